import { dnsChains } from "./dns.ts";
import { deviceSets } from "./exits.ts";
import { forward, input, output } from "./filter.ts";
import type { Policy } from "./policy.ts";
import { openPrerouting, prerouting } from "./prerouting.ts";
import { sourceNat } from "./source-nat.ts";
import { refuseUnrouted } from "./strangers.ts";
import { rawOutput } from "./zones.ts";

export const TABLE = "inet portcullis";

/** Replaces the table in one transaction: it is never missing or incomplete. */
const REPLACE = `add table ${TABLE}\ndelete table ${TABLE}\n`;

/** The kill switch as nftables text for `nft -f -`. */
export function rulesetOf(policy: Policy): string {
  return tableOf([
    ...deviceSets(policy),
    ...prerouting(policy),
    ...refuseUnrouted(policy),
    ...tunnelChains(policy),
    input(policy),
    ...forward(policy),
    output(policy),
  ]);
}

/**
 * What a tunnel needs to carry traffic, and nothing that blocks: the operator has turned the kill switch off. Without
 * a tunnel there is no table.
 */
export function openRulesetOf(policy: Policy): string {
  return policy.endpoints.length === 0
    ? REPLACE
    : tableOf([...deviceSets(policy), ...openPrerouting(policy), ...tunnelChains(policy)]);
}

function tunnelChains(policy: Policy): string[] {
  return policy.carrying.length === 0 ? [] : [rawOutput(policy), ...dnsChains(policy), sourceNat(policy)];
}

function tableOf(chains: readonly string[]): string {
  return `${REPLACE}table ${TABLE} {\n${chains.join("\n")}}\n`;
}
