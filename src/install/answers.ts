import { GatewayError } from "../errors.ts";
import type { Links } from "../routing/links.ts";
import { FLAGS } from "../settings.ts";
import type { Given } from "./environment.ts";

/** What a person is asked at a first installation, where no flag says it. */
const ASKED = ["lan", "uplink", "port"] as const;

export function assertSomebody(): void {
  if (!process.stdin.isTTY) throw new GatewayError("bad_request", "nobody is there to ask: say --yes");
}

/** Puts a question, and returns what was typed. */
export type Ask = (question: string) => string | null;

/** What is given, and what the person answers; nothing typed leaves the gateway to find out by itself. */
export function answered(given: Given, { lans, uplink }: Links, ask: Ask): Given {
  const found = {
    lan: lans.map((lan) => lan.interface).join(", ") || "none yet",
    uplink: uplink ?? "none yet",
    port: FLAGS.port.fallback,
  };
  const all = { ...given };
  for (const key of ASKED) {
    if (given[key] !== undefined) continue;
    const what = FLAGS[key].help.replace(/ \(default: .*\)$/, "");
    const answer = ask(`${what}; Enter for ${found[key]}:`)?.trim() ?? "";
    if (answer !== "") all[key] = answer;
  }
  return all;
}
