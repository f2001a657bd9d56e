import { addressOf, familyOf, lengthOf, mustParsePrefix, networkOf, type Prefix } from "../base/address.ts";
import { OWN, wayOf } from "./destination-ways.ts";
import { chainOf } from "./exits.ts";
import { anyOf, headerOf } from "./match.ts";
import { lookUpNames } from "./named-sets.ts";
import type { Destination, Policy } from "./policy.ts";

export type Family = 4 | 6;

/**
 * What leads packets to the exits of destinations. A packet passes one look-up for each set of addresses that names
 * have, and then one for each length of the prefixes and each exit, the longest first. It is masked and looked up among
 * networks without host bits: a set of prefixes seems empty for about a millisecond while the table is replaced (Linux
 * 6.18), and the packet would take the exit of its device.
 */
export function lookUps(
  destinations: readonly Destination[],
  policy: Policy,
  family: Family,
  /** The match for packets of these devices. */
  senders: (devices: Destination["devices"]) => string = () => "",
): string[] {
  const names = lookUpNames(destinations, family, {
    senders,
    to: (way) => wayOf(way, policy),
    blocked: chainOf({ to: "blocked" }, policy),
    comment: OWN,
  });
  return [...names, ...byPrefixes(destinations, policy, family, senders)];
}

function byPrefixes(
  destinations: readonly Destination[],
  policy: Policy,
  family: Family,
  senders: (devices: Destination["devices"]) => string,
): string[] {
  const entries = destinations.flatMap((each) => {
    const [from, to] = [senders(each.devices), wayOf(each, policy)];
    const own = each.prefixes.filter((prefix) => familyOf(prefix) === family);
    return own.map((prefix) => ({ prefix, from, to }));
  });
  const byLength = Map.groupBy(entries, ({ prefix }) => lengthOf(prefix));
  return [...byLength]
    .sort(([one], [other]) => other - one)
    .flatMap(([length, some]) => {
      const groups = Map.groupBy(some, ({ from, to }) => `${from}|${to}`);
      return [...groups.values()].map((group) => {
        const [{ from, to } = { from: "", to: "" }] = group;
        const prefixes = group.map(({ prefix }) => prefix);
        return `${from}${headerOf(family)} daddr ${within(prefixes, length, family)} goto ${to} ${OWN}`;
      });
    });
}

/** Compares with prefixes of one length. */
function within(prefixes: readonly Prefix[], length: number, family: Family): string {
  const whole = mustParsePrefix(
    family === 4 ? "255.255.255.255/32" : `${"ffff:".repeat(8).slice(0, -1)}/128`,
  );
  const networks = prefixes.map(addressOf).sort();
  if (length === lengthOf(whole)) return anyOf(networks);
  const [single] = prefixes;
  return prefixes.length === 1 ? `${single}` : `& ${addressOf(networkOf(whole, length))} ${anyOf(networks)}`;
}
