import {
  addressOf,
  contains,
  type HostName,
  mustParsePrefix,
  networkOf,
  type Prefix,
  parsePrefix,
} from "../base/address.ts";
import { parseDomainName } from "../base/domain-name.ts";
import { GatewayError } from "../base/errors.ts";
import { isInHomeZone } from "../base/home-zone.ts";
import { type Exits, exitIn, formatExit } from "../devices/exit.ts";
import { deviceIdIn, isPrefixId } from "../devices/id.ts";
import { conflictBetween, type Rule } from "./rules.ts";
import { targetOf } from "./saved.ts";
import { type DestinationBody, MAX_ALL_NAMES, MAX_ALL_PREFIXES, MAX_RULES } from "./schema.ts";

/** What decides whether a rule is possible now. */
export interface Here {
  exits: Exits;
  /** What of the gateway's own networks has addresses of the prefix, for people; null if nothing has. */
  overlapOf: (prefix: Prefix) => string | null;
}

/** The rule that a client has asked for; throws, naming the field, if there cannot be such a rule. */
export function ruleIn(id: string, body: DestinationBody, { exits, overlapOf }: Here): Rule {
  const names = [...new Set((body.names ?? []).map(nameIn))];
  const prefixes = [...new Set((body.prefixes ?? []).map(prefixIn))];
  if (names.length + prefixes.length === 0) throw refusal("names: there are none, and no prefixes either");
  const devices = [...new Set((body.devices ?? []).map((device) => deviceIdIn(device, "devices")))];
  const exit = exitIn(body.exit, exits);
  if (exit.to === "direct" && devices.some(isPrefixId))
    throw refusal("exit: direct is for all devices or for single ones, by MAC address, not for a prefix");
  for (const prefix of prefixes) {
    const owner = overlapOf(prefix);
    if (owner !== null)
      throw refusal(`prefixes: ${prefix} has addresses of ${owner}, which no exit leads to`);
  }
  if (/\p{Cc}/u.test(body.note ?? "")) throw refusal("note: contains a control character");
  return { id, names, prefixes, devices, exit, note: body.note ?? "" };
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

function nameIn(text: string): HostName {
  const name = parseDomainName(text);
  if (name !== null && isInHomeZone(name))
    throw refusal(`names: ${name} is a name of the home, which no exit leads to`);
  if (name !== null) return name;
  throw refusal(`names: ${JSON.stringify(text)} is not a name, such as example.com`);
}

function prefixIn(text: string): Prefix {
  const prefix = parsePrefix(text);
  if (prefix === null)
    throw refusal(
      `prefixes: ${JSON.stringify(text)} is not an address or a network, such as 203.0.113.0/24 or 2001:db8::/32`,
    );
  const network = networkOf(prefix);
  if (network !== prefix) throw refusal(`prefixes: ${prefix} has host bits; the network is ${network}`);
  const special = SPECIAL.find(
    (each) => contains(each, addressOf(prefix)) || contains(prefix, addressOf(each)),
  );
  if (special !== undefined)
    throw refusal(
      `prefixes: ${prefix} has addresses that never leave the LAN, such as those of groups or of the machine itself`,
    );
  return prefix;
}

/** RFC 6890: this network, loopback, link-local, multicast and reserved. */
const SPECIAL = [
  ...["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3"],
  ...["::/127", "::ffff:0:0/96", "fe80::/10", "ff00::/8"],
].map(mustParsePrefix);

function refusal(message: string): GatewayError {
  return new GatewayError("bad_request", message);
}
