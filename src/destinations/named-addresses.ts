import type { Address, HostName } from "../base/address.ts";
import { Shares } from "../base/shares.ts";
import type { DeviceId } from "../devices/id.ts";
import type { Named } from "../killswitch/destination-part.ts";
import type { Match, Rule } from "./rules.ts";
import { MAX_ALL_ADDRESSES, MAX_RULE_ADDRESSES } from "./schema.ts";

/** Times what a device has must be left: it has at most a third of what the others leave. */
const LEFT_TO_OTHERS = 2;

/** That a name of a rule has an address. Times are on the monotonic clock. */
interface Claim {
  until: number;
  /** The device that has asked for it; null if nobody knows. It counts for this one until then. */
  device: DeviceId | null;
  countsUntil: number;
}

/** A claim and what it is about. */
export interface NamedAddress {
  /** The id of the rule. */
  rule: string;
  name: HostName;
  address: Address;
  device: DeviceId | null;
  /** For how long it is known. */
  forMs: number;
}

/** The addresses that the names of rules have now. */
export class NamedAddresses {
  /** By the id of the rule, the name and the address. */
  private readonly byRule = new Map<string, Map<HostName, Map<Address, Claim>>>();
  /** The names that have an address, by the id of their rule. */
  private readonly byAddress = new Map<Address, Map<string, Set<HostName>>>();
  private readonly shares = new Shares(MAX_ALL_ADDRESSES, LEFT_TO_OTHERS);
  private readonly sharesOf = new Map<string, Shares>();

  constructor(private readonly monotonic: () => number) {}

  /** All of them, to be learnt again after a restart. */
  get all(): NamedAddress[] {
    const now = this.monotonic();
    return this.claims().map(({ rule, name, address, claim: { device, until } }) => ({
      ...{ rule, name, address, device },
      forMs: Math.max(0, Math.round(until - now)),
    }));
  }

  /** Keeps them for this long, or longer. Returns those that are new; null if there would be too many, and nothing changes. */
  learn(
    { id }: Pick<Rule, "id">,
    name: HostName,
    addresses: readonly Address[],
    device: DeviceId | null,
    forMs: number,
  ): Address[] | null {
    const own = this.byRule.get(id)?.get(name);
    const added: Address[] = [];
    for (const address of addresses)
      if (own?.has(address) !== true && !added.includes(address)) added.push(address);
    if (added.length > 0 && !this.hasRoom(id, device, added.length)) return null;
    const now = this.monotonic();
    for (const address of addresses) {
      const known = own?.get(address);
      const until = Math.max(now + forMs, known?.until ?? 0);
      if (known === undefined || (known.device !== device && known.countsUntil <= now))
        this.put(id, name, address, { until, device, countsUntil: until });
      else {
        known.until = until;
        if (known.device === device) known.countsUntil = until;
      }
    }
    return added;
  }

  /** Whether the time of any that the name has is over sooner than this. */
  isAnyOverIn(ms: number, { id }: Pick<Rule, "id">, name: HostName, addresses: readonly Address[]): boolean {
    const end = this.monotonic() + ms;
    const own = this.byRule.get(id)?.get(name);
    return addresses.some((address) => (own?.get(address)?.until ?? end) < end);
  }

  /** Takes in what was known before a restart, as far as rules still have the names; each for this long at least. */
  restore(known: readonly NamedAddress[], rules: readonly Rule[], leastMs: number): void {
    const now = this.monotonic();
    const names = new Map(rules.map((rule) => [rule.id, new Set(rule.names)]));
    for (const { rule, name, address, device, forMs } of known)
      if (names.get(rule)?.has(name))
        this.put(rule, name, address, { device, until: now + Math.max(forMs, leastMs), countsUntil: now });
  }

  forget({ id }: Pick<Rule, "id">, name: HostName, addresses: Iterable<Address>): void {
    for (const address of addresses) this.drop(id, name, address);
  }

  /** What the rule leads to its exit, by the labels of its names. An address is led by the longest name that has it. */
  ledBy(rule: Rule): Named[] {
    const counts = [...new Set(rule.names.map(labelsOf))].sort((one, other) => other - one);
    const led = new Set<Address>();
    return counts.map((labels) => {
      const names = rule.names.filter((name) => labelsOf(name) === labels);
      const own = new Set(names.flatMap((name) => this.of(rule, name))).difference(led);
      for (const address of own) led.add(address);
      return { labels, addresses: [...own] };
    });
  }

  /** Those of one of the rule's names. */
  of({ id }: Rule, name: HostName): Address[] {
    return [...(this.byRule.get(id)?.get(name)?.keys() ?? [])];
  }

  /** The names of some of these rules that have the address. */
  namesAt(address: Address, rules: readonly Rule[]): Match<HostName>[] {
    return [...(this.byAddress.get(address) ?? [])].flatMap(([id, names]) => {
      const rule = rules.find((each) => each.id === id);
      return rule === undefined ? [] : rule.names.flatMap((by) => (names.has(by) ? { rule, by } : []));
    });
  }

  /** How many addresses the rule's names have. */
  count(rule: Rule): number {
    return new Set(rule.names.flatMap((name) => this.of(rule, name))).size;
  }

  /** The devices whose answers can have no more addresses of the rule. */
  full({ id }: Rule): DeviceId[] {
    const devices = new Set(this.claims(id).flatMap(({ claim: { device } }) => device ?? []));
    return [...devices].filter((device) => !this.hasRoom(id, device, 1));
  }

  /** Forgets those that no name has any more. Whether there were any. */
  keepOnly(rules: readonly Rule[]): boolean {
    const kept = new Map(rules.map(({ id, names }) => [id, new Set(names)]));
    const gone = this.claims().filter(({ rule, name }) => !kept.get(rule)?.has(name));
    for (const { rule, name, address } of gone) this.drop(rule, name, address);
    return gone.length > 0;
  }

  /** Whether the time of any is over. */
  get isAnyOver(): boolean {
    const now = this.monotonic();
    return this.claims().some(({ claim: { until } }) => until <= now);
  }

  /** Those whose time is over get more time if they are in use, and are forgotten otherwise. */
  renew(used: ReadonlySet<Address>, forMs: number): void {
    const now = this.monotonic();
    for (const { rule, name, address, claim } of this.claims())
      if (claim.until <= now) {
        if (used.has(address)) claim.until = now + forMs;
        else this.drop(rule, name, address);
      }
  }

  private hasRoom(id: string, device: DeviceId | null, count: number): boolean {
    return [this.shares, this.ofRule(id)].every((each) => each.has(device ?? "", count));
  }

  private ofRule(id: string): Shares {
    const own = this.sharesOf.get(id) ?? new Shares(MAX_RULE_ADDRESSES, LEFT_TO_OTHERS);
    this.sharesOf.set(id, own);
    return own;
  }

  private put(id: string, name: HostName, address: Address, claim: Claim): void {
    this.drop(id, name, address);
    const ofRule = this.byRule.get(id) ?? new Map<HostName, Map<Address, Claim>>();
    const ofName = ofRule.get(name) ?? new Map<Address, Claim>();
    this.byRule.set(id, ofRule.set(name, ofName.set(address, claim)));
    const at = this.byAddress.get(address) ?? new Map<string, Set<HostName>>();
    this.byAddress.set(address, at.set(id, (at.get(id) ?? new Set()).add(name)));
    for (const each of [this.shares, this.ofRule(id)]) each.add(claim.device ?? "");
  }

  /** Without effect if it is unknown. */
  private drop(id: string, name: HostName, address: Address): void {
    const ofRule = this.byRule.get(id);
    const ofName = ofRule?.get(name);
    const claim = ofName?.get(address);
    if (claim === undefined) return;
    ofName?.delete(address);
    if (ofName?.size === 0) ofRule?.delete(name);
    if (ofRule?.size === 0) this.byRule.delete(id);
    const at = this.byAddress.get(address);
    at?.get(id)?.delete(name);
    if (at?.get(id)?.size === 0) at.delete(id);
    if (at?.size === 0) this.byAddress.delete(address);
    for (const each of [this.shares, this.ofRule(id)]) each.give(claim.device ?? "");
    if (!this.byRule.has(id)) this.sharesOf.delete(id);
  }

  /** Those of one rule, or of all. */
  private claims(id?: string): { rule: string; name: HostName; address: Address; claim: Claim }[] {
    const some = id === undefined ? [...this.byRule] : [[id, this.byRule.get(id) ?? new Map()] as const];
    return some.flatMap(([rule, names]: readonly [string, Map<HostName, Map<Address, Claim>>]) =>
      [...names].flatMap(([name, addresses]) =>
        [...addresses].map(([address, claim]) => ({ rule, name, address, claim })),
      ),
    );
  }
}

/** How long a name is. */
export function labelsOf(name: HostName): number {
  return name.split(".").length;
}
