import type { Address, HostName } from "../base/address.ts";
import { ownersOf } from "../killswitch/named-sets.ts";
import type { Rule } from "./rules.ts";
import { MAX_ALL_ADDRESSES, MAX_RULE_ADDRESSES } from "./schema.ts";

/** An address that a name of a rule has. */
interface Named {
  /** Which name of the rule; null if the service before this one has learnt it. */
  by: HostName | null;
  /** On the monotonic clock. */
  until: number;
}

/** The addresses that the names of rules have now. */
export class NamedAddresses {
  /** By the id of the rule. */
  private readonly byRule = new Map<string, Map<Address, Named>>();

  constructor(private readonly monotonic: () => number) {}

  /** Keeps them for this long, or longer. If there would be too many, nothing changes. */
  learn(
    { id }: Rule,
    by: HostName | null,
    addresses: readonly Address[],
    forMs: number,
  ): "new" | "known" | "too many" {
    const own = this.byRule.get(id) ?? new Map<Address, Named>();
    const added = new Set(addresses).difference(own).size;
    if (own.size + added > MAX_RULE_ADDRESSES || this.size + added > MAX_ALL_ADDRESSES) return "too many";
    this.byRule.set(id, own);
    const until = this.monotonic() + forMs;
    for (const address of addresses) {
      const known = own.get(address);
      own.set(address, { by, until: Math.max(until, known?.until ?? 0) });
    }
    return added === 0 ? "known" : "new";
  }

  /**
   * The addresses that each rule leads to its exit. One that several rules for the same devices have has one exit: what
   * is direct comes last, because it leaves outside the tunnel, and then a longer name comes before a shorter one.
   */
  ledBy(rules: readonly Rule[]): Map<Rule, Address[]> {
    const led = new Map<Rule, Address[]>();
    for (const some of Map.groupBy(rules, ({ devices }) => ownersOf(devices)).values()) {
      const first = new Map<Address, { rule: Rule; by: HostName | null }>();
      for (const rule of some)
        for (const [address, { by }] of this.ofRule(rule)) {
          const known = first.get(address);
          if (known === undefined || comesBefore({ rule, by }, known)) first.set(address, { rule, by });
        }
      for (const [address, { rule }] of first) {
        const own = led.get(rule) ?? [];
        led.set(rule, own);
        own.push(address);
      }
    }
    return led;
  }

  /** Those of one of the rule's names. */
  of(rule: Rule, name: HostName): Address[] {
    return [...this.ofRule(rule)].flatMap(([address, { by }]) => (by === name ? [address] : []));
  }

  /** Null if nobody knows which of the rule's names has the address. */
  nameOf({ id }: Rule, address: Address): HostName | null {
    return this.byRule.get(id)?.get(address)?.by ?? null;
  }

  /** Whether one of the rule's names has one of these addresses. */
  hasAny({ id }: Rule, addresses: readonly Address[]): boolean {
    const own = this.byRule.get(id);
    return own !== undefined && addresses.some((address) => own.has(address));
  }

  count(rule: Rule): number {
    return this.ofRule(rule).length;
  }

  /** Forgets those that no name has any more. */
  keepOnly(rules: readonly Rule[]): void {
    const kept = new Map(rules.map((rule) => [rule.id, new Map(this.ofRule(rule))]));
    this.byRule.clear();
    for (const [id, addresses] of kept) if (addresses.size > 0) this.byRule.set(id, addresses);
  }

  /** Those whose time is over. */
  expired(): Set<Address> {
    const now = this.monotonic();
    const all = [...this.byRule.values()].flatMap((addresses) => [...addresses]);
    return new Set(all.flatMap(([address, { until }]) => (until <= now ? [address] : [])));
  }

  /** Those whose time is over get more time if they are in use, and are forgotten otherwise. */
  renew(used: ReadonlySet<Address>, forMs: number): void {
    const now = this.monotonic();
    for (const addresses of this.byRule.values())
      for (const [address, named] of addresses)
        if (named.until <= now) {
          if (used.has(address)) named.until = now + forMs;
          else addresses.delete(address);
        }
  }

  private get size(): number {
    return [...this.byRule.values()].reduce((sum, addresses) => sum + addresses.size, 0);
  }

  /** A rule that was changed keeps those of the names that it still has. */
  private ofRule({ id, names }: Rule): [Address, Named][] {
    const own = new Set<HostName | null>([...names, ...(names.length === 0 ? [] : [null])]);
    return [...(this.byRule.get(id) ?? [])].filter(([, { by }]) => own.has(by));
  }
}

interface Claim {
  rule: Rule;
  by: HostName | null;
}

/** What was there before this service began stays, so that no connection changes its exit. */
function comesBefore(one: Claim, other: Claim): boolean {
  const rankOf = ({ rule, by }: Claim) => [
    rule.exit.to === "direct" ? 1 : 0,
    by === null ? Number.NEGATIVE_INFINITY : -by.split(".").length,
  ];
  const [[exit = 0, length = 0], [otherExit = 0, otherLength = 0]] = [rankOf(one), rankOf(other)];
  return exit < otherExit || (exit === otherExit && length < otherLength);
}
