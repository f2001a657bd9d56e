import { askerSets, refuseUnasked } from "./askers.ts";
import { markDirectReplies } from "./direct.ts";
import { dnsChains } from "./dns.ts";
import { deviceSets } from "./exits.ts";
import { forward, input, output } from "./filter.ts";
import { leadForwards } from "./forwards.ts";
import { isAnyDirect, type Policy } from "./policy.ts";
import { openPrerouting, prerouting } from "./prerouting.ts";
import { checkLeaving, sourceNat } from "./source-nat.ts";
import { refuseUnrouted } from "./strangers.ts";
import { unmarkReplies } from "./uplink.ts";
import { serverSets } from "./wireguard-servers.ts";
import { rawOutput } from "./zones.ts";

export const TABLE = "inet portcullis";

/** Replaces the table in one transaction, so that it is never missing or incomplete. */
const REPLACE = `add table ${TABLE}\ndelete table ${TABLE}\n`;

/** The kill switch as nftables text for `nft -f -`. */
export function rulesetOf(policy: Policy): string {
  return tableOf([
    ...serverSets(policy),
    ...deviceSets(policy),
    ...askerSets(policy),
    ...prerouting(policy),
    ...refuseUnrouted(policy),
    ...exitChains(policy, true),
    unmarkReplies(policy),
    ...input(policy),
    ...forward(policy),
    output(policy),
  ]);
}

/**
 * The rules that tunnels and direct devices need to carry traffic, without those that block: the operator has turned
 * the kill switch off. Without tunnels and direct devices there is no table.
 */
export function openRulesetOf(policy: Policy): string {
  return isUsed(policy)
    ? tableOf([
        ...serverSets(policy),
        ...deviceSets(policy),
        ...askerSets(policy),
        ...openPrerouting(policy),
        ...exitChains(policy, false),
      ])
    : REPLACE;
}

/** Whether there is a tunnel or an own resolver, something is direct, or devices may connect from outside. */
export function isUsed(policy: Policy): boolean {
  const { endpoints, remote, resolver } = policy;
  const isServing = remote !== undefined || resolver !== undefined;
  return endpoints.length > 0 || isAnyDirect(policy) || isServing;
}

function exitChains(policy: Policy, blocks: boolean): string[] {
  const { carrying, remote } = policy;
  // Connections from before are still known until they are deleted.
  if (!isUsed({ ...policy, endpoints: carrying })) return blocks ? checkLeaving(policy, blocks) : [];
  return [
    ...(carrying.length === 0 && remote === undefined ? [] : [rawOutput(policy)]),
    ...markDirectReplies(policy),
    ...leadForwards(policy),
    ...dnsChains(policy),
    ...refuseUnasked(policy),
    sourceNat(policy),
    ...checkLeaving(policy, blocks),
  ];
}

function tableOf(chains: readonly string[]): string {
  return `${REPLACE}table ${TABLE} {\n${chains.join("\n")}}\n`;
}
