import { CommandError } from "../base/errors.ts";
import { FLAGS } from "../base/flags.ts";
import type { Settings } from "../base/settings.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { GivenSettings } from "./environment.ts";
import { PATHS } from "./paths.ts";

/** The settings that a first installation asks for, unless a flag gives them. */
const ASKED = ["lan", "uplink", "port", "dhcp"] as const;

export function assertSomebody(): void {
  if (!process.stdin.isTTY)
    throw new CommandError("bad_request", "there is no terminal to ask at; pass --yes");
}

/** Asks a question and returns what was typed. */
export type Ask = (question: string) => string | null;

/** The given settings and the answers; an empty answer leaves a setting to the gateway. */
export function answered(given: GivenSettings, { lans, uplink }: HostNetwork, ask: Ask): GivenSettings {
  const found = {
    lan: lans.map((lan) => lan.interface).join(", ") || "none yet",
    uplink: uplink ?? "none yet",
    port: FLAGS.port.fallback,
    dhcp: FLAGS.dhcp.fallback,
  };
  const all = { ...given };
  for (const key of ASKED) {
    if (given[key] !== undefined) continue;
    const what = FLAGS[key].help.replace(/ \(default: .*\)$/, "");
    const answer = ask(`${what} (Enter for ${found[key]}):`)?.trim() ?? "";
    if (answer !== "") all[key] = answer;
  }
  return all;
}

/**
 * An earlier version wrote every interface that it found into the settings as LAN, even the uplink. If the gateway would
 * not choose the uplink as LAN, asks whether to remove it.
 */
export function repaired(
  given: GivenSettings,
  { lan }: Pick<Settings, "lan">,
  { network: { uplink }, byDefault }: { network: HostNetwork; byDefault: HostNetwork },
  agrees: (question: string) => boolean,
): GivenSettings {
  const found = byDefault.lans.map((one) => one.interface);
  if (given.lan !== undefined || uplink === null || !lan.includes(uplink)) return given;
  if (found.length === 0 || found.includes(uplink)) return given;
  const others = lan.filter((name) => name !== uplink);
  const wanted = (others.length > 0 ? others : found).join(",");
  const question = `${PATHS.environment} names the uplink ${uplink} as LAN, so anyone on that cable may use the gateway; an earlier version may have written this without asking. Use only ${wanted} as LAN?`;
  return agrees(question) ? { ...given, lan: wanted } : given;
}
