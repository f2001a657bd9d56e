import {
  type Address,
  addressOf,
  familyOf,
  type HostName,
  lengthOf,
  networkOf,
  type Prefix,
  prefixOf,
} from "../base/address.ts";
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

/** The rules of one name, or of one prefix. */
interface Holders {
  all: Rule | null;
  byDevice: Map<DeviceId, Rule>;
}

/**
 * Finds the rule for a destination. The most specific one holds: rules of single devices come before those of all, then
 * longer names before shorter ones, and longer prefixes before shorter ones. No two rules are equally specific, because
 * those are refused.
 */
export class Matcher {
  private readonly names: ReadonlyMap<HostName, Holders>;
  private readonly prefixes: ReadonlyMap<Prefix, Holders>;
  /** Of the prefixes of each family, the longest first. */
  private readonly lengths: Readonly<Record<4 | 6, readonly number[]>>;

  constructor(readonly rules: readonly Rule[]) {
    this.names = holdersOf(rules, ({ names }) => names);
    this.prefixes = holdersOf(rules, ({ prefixes }) => prefixes);
    const all = [...this.prefixes.keys()];
    const lengthsIn = (family: 4 | 6) => {
      const lengths = all.filter((prefix) => familyOf(prefix) === family).map(lengthOf);
      return [...new Set(lengths)].sort((a, b) => b - a);
    };
    this.lengths = { 4: lengthsIn(4), 6: lengthsIn(6) };
  }

  /** Whether any rule has names. */
  get hasNames(): boolean {
    return this.names.size > 0;
  }

  /** The rule for a name in lower case, without a final dot. It takes as many look-ups as the name has labels. */
  forName(name: HostName, device: DeviceId | null): Match<HostName> | null {
    if (this.names.size === 0) return null;
    return mostSpecific(withParents(name), (each) => this.names.get(each), device);
  }

  forAddress(address: Address, device: DeviceId | null): Match<Prefix> | null {
    const around = this.lengths[familyOf(address)].map((length) => networkOf(prefixOf(address), length));
    return mostSpecific(around, (each) => this.prefixes.get(each), device);
  }
}

/** The candidates are ordered, the most specific first. */
function mostSpecific<By extends HostName | Prefix>(
  candidates: readonly By[],
  holdersOf: (by: By) => Holders | undefined,
  device: DeviceId | null,
): Match<By> | null {
  const first = (ruleIn: (holders: Holders) => Rule | null | undefined) => {
    for (const by of candidates) {
      const holders = holdersOf(by);
      const rule = holders && ruleIn(holders);
      if (rule) return { rule, by };
    }
    return null;
  };
  return (device && first(({ byDevice }) => byDevice.get(device))) ?? first(({ all }) => all);
}

function holdersOf<By extends HostName | Prefix>(
  rules: readonly Rule[],
  partsOf: (rule: Rule) => readonly By[],
): Map<By, Holders> {
  const found = new Map<By, Holders>();
  for (const rule of rules)
    for (const by of partsOf(rule)) {
      const holders = found.get(by) ?? { all: null, byDevice: new Map() };
      if (rule.devices.length === 0) holders.all = rule;
      for (const device of rule.devices) holders.byDevice.set(device, rule);
      found.set(by, holders);
    }
  return found;
}

/** The name, and the names above it, the longest first. */
function withParents(name: HostName): HostName[] {
  const labels = name.split(".");
  return labels.map((_, at) => labels.slice(at).join(".") as HostName);
}

/** The first part of one rule that another has too, for some device that both are for; null if there is none. */
export function conflictBetween(one: Rule, other: Rule): HostName | Prefix | null {
  const isForBoth =
    one.devices.length === 0
      ? other.devices.length === 0
      : one.devices.some((device) => other.devices.includes(device));
  if (!isForBoth) return null;
  const others: ReadonlySet<string> = new Set([...other.names, ...other.prefixes]);
  return [...one.names, ...one.prefixes].find((each) => others.has(each)) ?? null;
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
