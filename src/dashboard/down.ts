import { downReason } from "../shared/verdict-texts.ts";
import { capital } from "../shared/words.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import { textOf } from "./voice.ts";

/** Why nothing goes through a tunnel: "the tunnel tv has failed". */
export function downText(exit: string, row: TunnelRow | undefined): string {
  return textOf(downReason(exit, row?.state));
}

/** The same as the beginning of a sentence. */
export function downSentence(exit: string, row: TunnelRow | undefined): string {
  return capital(downText(exit, row));
}
