import { capital } from "../shared/words.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import { say } from "./language.ts";

/** Why nothing leaves by a tunnel: "the tunnel tv has failed". */
export function downText(exit: string, row: TunnelRow | undefined): string {
  return say(
    "the {exit, select, main {main tunnel} other {tunnel {exit}}} {state, select, disconnected {is disconnected} connecting {is connecting} connected {is connected} reconnecting {is reconnecting} failed {has failed} other {is not known}}",
    { exit, state: row?.state ?? "" },
  );
}

/** The same as the beginning of a sentence. */
export function downSentence(exit: string, row: TunnelRow | undefined): string {
  return capital(downText(exit, row));
}
