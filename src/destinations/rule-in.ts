import type { HostName, Prefix } from "../base/address.ts";
import { type Exits, exitIn, formatExit } from "../devices/exit.ts";
import { deviceIdIn, isPrefixId } from "../devices/id.ts";
import { isOutsideExit } from "../shared/exits.ts";
import { refused } from "./refusals.ts";
import { conflictBetween, type Rule } from "./rules.ts";
import { targetOf } from "./saved.ts";
import { type DestinationBody, MAX_ALL_NAMES, MAX_ALL_PREFIXES, MAX_RULES } from "./schema.ts";
import { nameIn, noteIn, prefixIn } from "./targets.ts";

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
  if (names.length + prefixes.length === 0) throw refused("rule_empty");
  const devices = [...new Set((body.devices ?? []).map((device) => deviceIdIn(device, "devices")))];
  const exit = exitIn(body.exit, exits);
  if (isOutsideExit(exit) && devices.some(isPrefixId)) throw refused("direct_for_prefix");
  for (const prefix of prefixes) {
    const owner = overlapOf(prefix);
    if (owner !== null) throw refused("prefix_owned", { prefix, owner });
  }
  return { id, names, prefixes, devices, exit, note: noteIn(body.note ?? "") };
}

/** Throws if the rule contradicts another, or if there would be too many. */
export function refuseBeside(rule: Rule, others: readonly Rule[]): void {
  for (const other of others) {
    const conflict = conflictBetween(rule, other);
    if (conflict !== null)
      throw refused("rule_conflict", {
        field: isNameOf(rule, conflict) ? "names" : "prefixes",
        part: conflict,
        exit: formatExit(rule.exit),
        rule: other.id,
        target: targetOf(other),
        other: formatExit(other.exit),
      });
  }
  if (others.length >= MAX_RULES) throw refused("limit_reached", { of: "rules", max: MAX_RULES });
  for (const [field, max] of [
    ["names", MAX_ALL_NAMES],
    ["prefixes", MAX_ALL_PREFIXES],
  ] as const) {
    const all = [rule, ...others].reduce((sum, each) => sum + each[field].length, 0);
    if (all > max) throw refused("rules_too_long", { field, count: all, max });
  }
}

function isNameOf({ names }: Rule, part: HostName | Prefix): boolean {
  return names.some((name) => name === part);
}
