import { OWN_TABLES } from "../network/own-table.ts";
import type { Host } from "../system/host.ts";
import { explained } from "../system/modules.ts";
import { listNft } from "../system/nft.ts";
import { TABLE } from "./ruleset.ts";

/**
 * Prints numbers, and no counters. Names come from files of the machine (/etc/protocols, /etc/iproute2/rt_marks), so
 * the spelling would change as soon as a package installs them.
 */
const SPELLING = ["-s", "-n"];

/**
 * The firewall's table as the kernel has it, or null without one. Each `nft` ends only after others that have changed a
 * table, which takes some 10 ms (see `COMMITTED`).
 */
export function listTable(host: Host): Promise<string | null> {
  return host
    .run(["nft", ...SPELLING, "list", "table", ...TABLE.split(" ")], { until: "\n}\n", failure: "Error: " })
    .catch(() => null);
}

/**
 * The end of the echo, which nft prints if the first command adds something. The kernel reports the new generation after
 * the commit; then the end of `nft` waits until the kernel has freed what was removed (nf_tables_api.c,
 * `nft_rcv_nl_event`), which takes some 8 ms.
 */
const COMMITTED = "# new generation ";

/**
 * Replaces the table by that of `ruleset`; returns nft's echo, in the spelling of `listTable`. `onCommitted` is called some
 * 6 ms earlier, when the echo begins: what is echoed are the kernel's reports of its commit.
 */
export function loadTable(host: Host, ruleset: string, onCommitted: () => void = () => {}): Promise<string> {
  return host
    .run(["nft", "-e", ...SPELLING, "-f", "-"], { stdin: ruleset, until: COMMITTED, onPrinting: onCommitted })
    .catch((error: unknown) => {
      throw explained(error);
    });
}

/** Families that see the gateway's traffic; a bridge's own chains see frames, not routed packets. */
const FAMILIES = ["ip", "ip6", "inet"];

/** Chains of other programs (ufw, Docker) that drop by policy, as family, table and name. */
export async function droppingChains(host: Host, hooks = ["forward", "input"]): Promise<string[]> {
  const chains = await chainsOfOthers(host, hooks);
  return chains.filter(({ drops }) => drops).map(({ chain }) => chain);
}

/** Other programs' chains on these hooks, as family, table and name, and whether they drop by policy. */
export async function chainsOfOthers(
  host: Host,
  hooks: readonly string[],
): Promise<{ chain: string; hook: string; drops: boolean }[]> {
  return (await listNft(host, ["chains"]))
    .flatMap(({ chain }) => (chain === undefined ? [] : [chain]))
    .filter(({ hook = "" }) => hooks.includes(hook))
    .filter(
      ({ family, table }) =>
        FAMILIES.includes(family) && ![TABLE, ...OWN_TABLES].includes(`${family} ${table}`),
    )
    .map(({ family, table, name, hook = "", policy }) => ({
      chain: `${family} ${table} ${name}`,
      hook,
      drops: policy === "drop",
    }));
}
