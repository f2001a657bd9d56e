import { type Address, addressOf, type HostName, lengthOf, type Prefix } from "../base/address.ts";
import { PrefixTable } from "../base/prefix-table.ts";
import type { DeviceId } from "../devices/id.ts";
import type { Exit } from "../killswitch/policy.ts";

/** Where the traffic of some devices, or of all, to some destinations leaves. */
export interface Rule {
  id: string;
  /** Each means itself and all names below it. */
  names: readonly HostName[];
  /** Without host bits. */
  prefixes: readonly Prefix[];
  /** Empty if the rule is for all devices. */
  devices: readonly DeviceId[];
  exit: Exit;
  note: string;
}

/** The rule that holds, and which of its names or prefixes it is that matches. */
export interface Match<By extends HostName | Prefix> {
  rule: Rule;
  by: By;
}

/** Of names whose rules are remembered. A device that asks for other names all the time makes them be looked up again. */
const MAX_FOUND = 1_024;

/**
 * Finds the rule for a destination. The most specific one holds: rules of single devices come before those of all, then
 * longer names before shorter ones, and longer prefixes before shorter ones. No two rules are equally specific, because
 * those are refused.
 */
export class Matcher {
  /** By device; under null the rules of all devices. */
  private readonly names: ReadonlyMap<DeviceId | null, ReadonlyMap<HostName, Rule>>;
  private readonly prefixes: ReadonlyMap<DeviceId | null, PrefixTable<Rule>>;
  /** What was found for names, by whose rules were looked at: nearly all questions are for names that were asked before. */
  private readonly found: ReadonlyMap<DeviceId | null, Map<HostName, Match<HostName> | null>>;
  private foundCount = 0;

  constructor(readonly rules: readonly Rule[]) {
    this.names = byDevice(rules, ({ names }) => names);
    this.found = new Map([...this.names.keys()].map((owner) => [owner, new Map()]));
    const prefixes = byDevice(rules, (rule) => rule.prefixes);
    this.prefixes = new Map([...prefixes].map(([device, each]) => [device, new PrefixTable(each)]));
  }

  /** Whether any rule has names. */
  get hasNames(): boolean {
    return this.names.size > 0;
  }

  /**
   * The rule for a name in lower case, without a final dot. It takes at most two look-ups for each label of the name.
   * One that is blocked has only the rules of its own.
   */
  forName(name: HostName, device: DeviceId | null, isBlocked = false): Match<HostName> | null {
    if (!this.hasNames) return null;
    return this.first(device, isBlocked, (owner) => this.forNameIn(owner, name));
  }

  /** Among the rules of one device, or of all. */
  private forNameIn(owner: DeviceId | null, name: HostName): Match<HostName> | null {
    const found = this.found.get(owner);
    const before = found?.get(name);
    if (found === undefined || before !== undefined) return before ?? null;
    const rules = this.names.get(owner);
    const by = rules && withParents(name).find((each) => rules.has(each));
    const rule = by && rules.get(by);
    const match = rule ? { rule, by } : null;
    if (this.foundCount >= MAX_FOUND) {
      for (const each of this.found.values()) each.clear();
      this.foundCount = 0;
    }
    found.set(name, match);
    this.foundCount += 1;
    return match;
  }

  forAddress(address: Address, device: DeviceId | null, isBlocked = false): Match<Prefix> | null {
    return this.first(device, isBlocked, (owner) => {
      const found = this.prefixes.get(owner)?.find(address);
      return found ? { rule: found.value, by: found.prefix } : null;
    });
  }

  /** The rule for a whole network, as far as narrower ones do not hold. */
  forPrefix(prefix: Prefix, device: DeviceId | null): Match<Prefix> | null {
    return this.first(device, false, (owner) => {
      const found = this.prefixes.get(owner)?.covering(prefix);
      return found ? { rule: found.value, by: found.prefix } : null;
    });
  }

  /** Rules of the device come first. */
  private first<Found>(
    device: DeviceId | null,
    isBlocked: boolean,
    find: (owner: DeviceId | null) => Found | null,
  ): Found | null {
    return (device && find(device)) ?? (isBlocked ? null : find(null));
  }
}

/** Each device with the rules that are only for some, and null with those of all. */
function byDevice<By>(
  rules: readonly Rule[],
  partsOf: (rule: Rule) => readonly By[],
): Map<DeviceId | null, Map<By, Rule>> {
  const found = new Map<DeviceId | null, Map<By, Rule>>();
  for (const rule of rules)
    for (const device of rule.devices.length === 0 ? [null] : rule.devices)
      for (const by of partsOf(rule)) {
        const rules = found.get(device) ?? new Map<By, Rule>();
        found.set(device, rules.set(by, rule));
      }
  return found;
}

/** The name, and the names above it, the longest first. To join the labels of the longest takes half a millisecond. */
function withParents(name: HostName): HostName[] {
  const all = [name];
  for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1))
    all.push(name.slice(dot + 1) as HostName);
  return all;
}

/** The first part of one rule that another has too, for some device that both are for; null if there is none. */
export function conflictBetween(one: Rule, other: Rule): HostName | Prefix | null {
  // Most rules share nothing, and some have many devices.
  const others: ReadonlySet<string> = new Set([...other.names, ...other.prefixes]);
  const shared = [...one.names, ...one.prefixes].find((each) => others.has(each)) ?? null;
  if (shared === null) return null;
  const isForBoth =
    one.devices.length === 0
      ? other.devices.length === 0
      : one.devices.some((device) => other.devices.includes(device));
  return isForBoth ? shared : null;
}

/** The order in which rules are shown: those of single devices first, and then by their names and prefixes. */
export function inOrder(rules: readonly Rule[]): Rule[] {
  const keyOf = ({ devices, names, prefixes }: Rule) => [
    devices.length === 0 ? "1" : "0",
    ...names.map(reversed),
    ...prefixes.map((prefix) => `${addressOf(prefix)} ${lengthOf(prefix)}`),
  ];
  const text = (rule: Rule) => keyOf(rule).join(" ");
  return [...rules].sort((one, other) => (text(one) < text(other) ? -1 : 1));
}

/** Names below one another are next to each other if their labels are compared from the last. */
function reversed(name: HostName): string {
  return name.split(".").reverse().join(".");
}
