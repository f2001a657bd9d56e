import type { Address, HostName } from "../base/address.ts";
import type { DeviceId } from "../devices/id.ts";
import type { Named } from "../killswitch/destination-part.ts";
import type { Rule } from "./rules.ts";
import { MAX_ALL_ADDRESSES, MAX_RULE_ADDRESSES } from "./schema.ts";

/** A device has this part of what the others leave. */
const SHARES = 3;

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
    const own = this.ofName(id, name);
    const added = [...new Set(addresses).difference(own)];
    if (added.length > 0 && !this.hasRoom(id, device, added.length)) return null;
    const now = this.monotonic();
    for (const address of addresses) {
      const known = own.get(address);
      const until = Math.max(now + forMs, known?.until ?? 0);
      const isOthers = known !== undefined && known.device !== device && known.countsUntil > now;
      own.set(address, isOthers ? { ...known, until } : { until, device, countsUntil: until });
    }
    return added;
  }

  /** Takes in what was known before a restart, as far as rules still have the names; each for this long again, and more. */
  restore(known: readonly NamedAddress[], rules: readonly Rule[], moreMs: number): void {
    const now = this.monotonic();
    for (const { rule, name, address, device, forMs } of known)
      if (rules.some(({ id, names }) => id === rule && names.includes(name)))
        this.ofName(rule, name).set(address, { device, until: now + forMs + moreMs, countsUntil: now });
  }

  forget({ id }: Rule, name: HostName, addresses: readonly Address[]): void {
    for (const address of addresses) this.byRule.get(id)?.get(name)?.delete(address);
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

  /** The names of the rule that have the address. */
  namesOf({ id, names }: Rule, address: Address): HostName[] {
    const own = this.byRule.get(id);
    return names.filter((name) => own?.get(name)?.has(address));
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
    let isLess = false;
    for (const [id, names] of this.byRule)
      for (const name of names.keys()) if (!kept.get(id)?.has(name)) isLess = names.delete(name) || isLess;
    return isLess;
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
        else this.byRule.get(rule)?.get(name)?.delete(address);
      }
  }

  /**
   * Whether a device may bring in so many more: it has at most a third of what the others leave, so that there is room for
   * another one.
   */
  private hasRoom(id: string, device: DeviceId | null, count: number): boolean {
    const isWithin = (all: readonly { claim: Claim }[], max: number) => {
      const own = all.filter(({ claim }) => claim.device === device).length + count;
      return own <= (max - (all.length + count - own)) / SHARES;
    };
    return isWithin(this.claims(id), MAX_RULE_ADDRESSES) && isWithin(this.claims(), MAX_ALL_ADDRESSES);
  }

  private ofName(id: string, name: HostName): Map<Address, Claim> {
    const ofRule = this.byRule.get(id) ?? new Map<HostName, Map<Address, Claim>>();
    const own = ofRule.get(name) ?? new Map<Address, Claim>();
    this.byRule.set(id, ofRule.set(name, own));
    return own;
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
