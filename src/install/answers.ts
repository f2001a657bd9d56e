import { GatewayError } from "../errors.ts";
import type { HostNetwork } from "../network/host-network.ts";
import { FLAGS, type Settings } from "../settings.ts";
import type { Given } from "./environment.ts";
import { PATHS } from "./paths.ts";

/** What a person is asked at a first installation, where no flag says it. */
const ASKED = ["lan", "uplink", "port"] as const;

export function assertSomebody(): void {
  if (!process.stdin.isTTY) throw new GatewayError("bad_request", "nobody is there to ask: say --yes");
}

/** Puts a question, and returns what was typed. */
export type Ask = (question: string) => string | null;

/** What is given, and what the person answers; nothing typed leaves the gateway to find out by itself. */
export function answered(given: Given, { lans, uplink }: HostNetwork, ask: Ask): Given {
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

/**
 * An earlier version wrote down every interface that it found, the uplink's too, though nobody had named it. Asks
 * whether it may stay where the gateway would not take it for LAN.
 */
export function repaired(
  given: Given,
  { lan }: Pick<Settings, "lan">,
  { network: { uplink }, byDefault }: { network: HostNetwork; byDefault: HostNetwork },
  agrees: (question: string) => boolean,
): Given {
  const found = byDefault.lans.map((one) => one.interface);
  if (given.lan !== undefined || uplink === null || !lan.includes(uplink)) return given;
  if (found.length === 0 || found.includes(uplink)) return given;
  const others = lan.filter((name) => name !== uplink);
  const wanted = (others.length > 0 ? others : found).join(",");
  const question = `${PATHS.environment} names the uplink ${uplink} as LAN, so whoever is on its cable may use the gateway; an earlier version may have written that unasked. Make the LAN ${wanted} alone?`;
  return agrees(question) ? { ...given, lan: wanted } : given;
}
