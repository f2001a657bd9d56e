import { existsSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { HostNetwork } from "../network/host-network.ts";
import { placeText } from "../system/files.ts";
import type { Host } from "../system/host.ts";
import { ruleChanges } from "./kernel-rules.ts";
import { blocked } from "./policy.ts";
import { rulesFor } from "./routing-rules.ts";
import { rulesetOf } from "./ruleset.ts";

/** Folder in the state directory; only an installation has it. */
export const BOOT_FOLDER = "boot";
export const BOOT_FILES = { firewall: "firewall.nft", rules4: "rules-4.batch", rules6: "rules-6.batch" };
export const BOOT_FILE_MODE = 0o600;
/** DHCP answers within seconds, but a switch may hold back the first packets for 30 s (spanning tree). */
export const SETTLED_AFTER_MS = 40_000;

/** The kill switch as `nft -f` and `ip -batch` load it at boot, before any other part of this program runs. */
export function bootFilesFor(network: HostNetwork): { name: string; text: string }[] {
  // Nothing passes between networks, or to networks behind routers, until the service adds rules for that.
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

/** Whether the network is complete enough to save. During a shutdown or without a cable, interfaces are missing. */
export function isComplete({ lans, uplink }: HostNetwork): boolean {
  return uplink !== null && lans.length > 0;
}

/**
 * Updates the files for the next boot once the machine's network has settled. During a start or a shutdown only a part
 * of the network is visible, and a boot with that part would lock out the rest of the LAN.
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
  if (!isComplete(network) || !existsSync(folder)) return;
  try {
    for (const { name, text } of bootFilesFor(network)) placeText(join(folder, name), text, BOOT_FILE_MODE);
  } catch (error) {
    log.warn(`the boot files could not be updated to the current network: ${messageOf(error)}`);
  }
}
