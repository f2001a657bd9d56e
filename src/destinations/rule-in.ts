import type { HostName, Prefix } from "../base/address.ts";
import { type Exits, exitIn, formatExit } from "../devices/exit.ts";
import { deviceIdIn, isPrefixId } from "../devices/id.ts";
import { isOutsideExit } from "../shared/exits.ts";
import { conflictBetween, type Rule } from "./rules.ts";
import { targetOf } from "./saved.ts";
import { type DestinationBody, MAX_ALL_NAMES, MAX_ALL_PREFIXES, MAX_RULES } from "./schema.ts";
import { nameIn, noteIn, prefixIn, refusal } from "./targets.ts";

/** What decides whether a rule is possible now. */
export interface RuleContext {
  exits: Exits;
  /** What of the gateway's own networks has addresses of the prefix, for people; null if nothing has. */
  overlapOf: (prefix: Prefix) => string | null;
}

/** The rule that a client has asked for; throws, naming the field, if there cannot be such a rule. */
export function ruleIn(id: string, body: DestinationBody, { exits, overlapOf }: RuleContext): Rule {
  const names = [...new Set((body.names ?? []).map(nameIn))];
  const prefixes = [...new Set((body.prefixes ?? []).map(prefixIn))];
  if (names.length + prefixes.length === 0) throw refusal("names: there are none, and no prefixes either");
  const devices = [...new Set((body.devices ?? []).map((device) => deviceIdIn(device, "devices")))];
  const exit = exitIn(body.exit, exits);
  if (isOutsideExit(exit) && devices.some(isPrefixId))
    throw refusal("exit: direct is for all devices or for single ones, by MAC address, not for a prefix");
  for (const prefix of prefixes) {
    const owner = overlapOf(prefix);
    if (owner !== null)
      throw refusal(`prefixes: ${prefix} has addresses of ${owner}, which no exit leads to`);
  }
  return { id, names, prefixes, devices, exit, note: noteIn(body.note ?? "") };
}

/** Throws if the rule contradicts another, or if there would be too many. */
export function refuseBeside(rule: Rule, others: readonly Rule[]): void {
  for (const other of others) {
    const conflict = conflictBetween(rule, other);
    if (conflict !== null)
      throw refusal(
        `${isNameOf(rule, conflict) ? "names" : "prefixes"}: ${conflict} would be in two rules for the same devices: in this one, by ${formatExit(rule.exit)}, and in ${other.id} (${targetOf(other)}, by ${formatExit(other.exit)}); change or remove that one`,
      );
  }
  if (others.length >= MAX_RULES)
    throw refusal(`there are ${MAX_RULES} rules, the maximum; remove one first`);
  for (const [field, max] of [
    ["names", MAX_ALL_NAMES],
    ["prefixes", MAX_ALL_PREFIXES],
  ] as const) {
    const all = [rule, ...others].reduce((sum, each) => sum + each[field].length, 0);
    if (all > max) throw refusal(`${field}: the rules would have ${all} in all, and ${max} is the maximum`);
  }
}

function isNameOf({ names }: Rule, part: HostName | Prefix): boolean {
  return names.some((name) => name === part);
}
