import { existsSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { HostNetwork } from "../network/host-network.ts";
import { placeText } from "../system/files.ts";
import type { Host } from "../system/host.ts";
import { blocked } from "./policy.ts";
import { ruleChanges, rulesFor } from "./routing-rules.ts";
import { rulesetOf } from "./ruleset.ts";

/** Folder in the state directory, there where the gateway is installed. */
export const BOOT_FOLDER = "boot";
export const BOOT_FILES = { firewall: "firewall.nft", rules4: "rules-4.batch", rules6: "rules-6.batch" };
/** Root's business alone. */
export const BOOT_FILE_MODE = 0o600;
/** DHCP answers within seconds; a switch may hold the first packets back for 30 s (spanning tree). */
export const SETTLED_AFTER_MS = 40_000;

/** The kill switch as `nft -f` and `ip -batch` set it at boot, before anything else of this program runs. */
export function bootFilesFor(network: HostNetwork): { name: string; text: string }[] {
  const rules = rulesFor(network);
  const linesOf = (family: 4 | 6) =>
    ruleChanges(
      [],
      rules.filter((rule) => rule.family === family),
    )
      .map((line) => `${line}\n`)
      .join("");
  return [
    {
      name: BOOT_FILES.firewall,
      text: rulesetOf(blocked(network)),
    },
    { name: BOOT_FILES.rules4, text: linesOf(4) },
    { name: BOOT_FILES.rules6, text: linesOf(6) },
  ];
}

/** Whether the links are worth to be kept: at a shutdown, or without the cable, they are not all there. */
export function areWhole({ lans, uplink }: HostNetwork): boolean {
  return uplink !== null && lans.length > 0;
}

/**
 * Brings what the next boot sets up to what the service sees of the machine's network, once that has settled: while a
 * machine starts or ends it sees half of it, and a boot that knows half of the LAN locks the other half out.
 */
export function bootKeeper(
  stateDir: string,
  host: Pick<Host, "sleep">,
  log: Log,
): (network: HostNetwork) => void {
  let latest: HostNetwork | null = null;
  let settling = new AbortController();
  return (network) => {
    if (Bun.deepEquals(network, latest)) return;
    latest = network;
    settling.abort();
    settling = new AbortController();
    const { signal } = settling;
    void host.sleep(SETTLED_AFTER_MS, signal).then(() => {
      if (!signal.aborted) keep(stateDir, network, log);
    });
  };
}

function keep(stateDir: string, network: HostNetwork, log: Log): void {
  const folder = join(stateDir, BOOT_FOLDER);
  // Without an installation there is no such folder.
  if (!areWhole(network) || !existsSync(folder)) return;
  try {
    for (const { name, text } of bootFilesFor(network)) placeText(join(folder, name), text, BOOT_FILE_MODE);
  } catch (error) {
    log.warn(`the next boot will not know of the network as it is now: ${messageOf(error)}`);
  }
}
