import { type Address, type HostName, unmapped } from "../base/address.ts";
import type { DeviceId } from "../devices/id.ts";
import { namedListed } from "../killswitch/named-listed.ts";
import type { Host } from "../system/host.ts";
import { NamedAddresses } from "./named-addresses.ts";
import type { Match, Rule } from "./rules.ts";
import { SharedNames } from "./shared-names.ts";

/** Programs keep addresses for longer than their TTL says. */
const SHORTEST_MS = 3_600_000;
/** For this long again while a connection uses the address. */
const USED_MS = 600_000;
/** Who has asked for what: every device of a household, for every name of some rules. */
const MAX_ASKED = 2_048;

/** Addresses that a name of a rule has, and for how long devices may use them. */
export interface NamedAnswer {
  match: Match<HostName>;
  addresses: readonly Address[];
  ttlMs: number;
}

interface Deps {
  clock: Pick<Host, "now" | "monotonic">;
  rules: () => readonly Rule[];
  /** Hands the rules to the kernel, with the addresses that they have when it calls `begin`. */
  load: (begin?: () => void) => Promise<void>;
  /** The addresses that devices have connections to. */
  connectedTo: () => Promise<ReadonlySet<Address>>;
}

/** Leads the addresses that names of rules have to the exits of the rules. */
export class Names {
  private readonly addresses: NamedAddresses;
  private readonly shared = new SharedNames();
  /** When each device has last asked for each name of a rule, the latest last. */
  private readonly asked = new Map<string, number>();
  /** Counts what was learnt. */
  private learnt = 0;
  /** What the kernel has of it for certain. */
  private loaded = 0;
  /** The load that has not begun. All answers that come until then share it. */
  private next: Promise<void> | null = null;

  constructor(private readonly deps: Deps) {
    this.addresses = new NamedAddresses(() => deps.clock.monotonic());
  }

  /** To be called for each question about a name of a rule. */
  note({ by }: Match<HostName>, device: DeviceId): void {
    const key = `${device} ${by}`;
    this.asked.delete(key);
    this.asked.set(key, this.deps.clock.now());
    const [oldest = ""] = this.asked.keys();
    if (this.asked.size > MAX_ASKED) this.asked.delete(oldest);
  }

  /** Milliseconds since 1970; null if it never did since the start. */
  askedAt(name: HostName, device: DeviceId): number | null {
    return this.asked.get(`${device} ${name}`) ?? null;
  }

  /**
   * Resolves once the kernel leads these addresses to the rule's exit. False if it does not, because there are too many
   * addresses, or the rule has changed meanwhile: then nobody may be told of them.
   */
  async permit({ match: { rule, by }, addresses, ttlMs }: NamedAnswer): Promise<boolean> {
    if (!this.has(rule)) return false;
    const outcome = this.addresses.learn(rule, by, addresses, Math.max(ttlMs, SHORTEST_MS));
    if (outcome === "too many") return false;
    if (outcome === "new") this.learnt += 1;
    if (this.loaded !== this.learnt) await this.load();
    return this.has(rule);
  }

  /** What each rule leads to its exit now. */
  ledBy(rules: readonly Rule[]): Map<Rule, Address[]> {
    return this.addresses.ledBy(rules);
  }

  of(rule: Rule, name: HostName): Address[] {
    return this.addresses.of(rule, name);
  }

  /** The name of one of these rules that has the address, and leads it; null if none has. */
  leading(address: Address, rules: readonly Rule[]): Match<HostName> | null {
    const led = this.ledBy(this.deps.rules());
    const having = rules.filter((rule) => led.get(rule)?.includes(address));
    const rule = having.find(({ exit }) => exit.to !== "direct") ?? having[0];
    const by = rule && (this.addresses.nameOf(rule, address) ?? rule.names[0]);
    return rule && by ? { rule, by } : null;
  }

  /** To be called for each answer that no rule leads outside the tunnel: its addresses may be outside all the same. */
  noteOther(name: HostName, device: DeviceId, addresses: readonly Address[]): void {
    for (const rule of this.deps.rules()) {
      const { exit, names, devices } = rule;
      if (exit.to !== "direct" || names.length === 0) continue;
      if (devices.length > 0 && !devices.includes(device)) continue;
      if (this.addresses.hasAny(rule, addresses.map(unmapped))) this.shared.note(rule, name);
    }
  }

  /** How many other names were seen on the addresses that the rule leads outside the tunnel. */
  others(rule: Rule): number {
    return this.shared.count(rule);
  }

  count(rule: Rule): number {
    return this.addresses.count(rule);
  }

  /** To be called after a change of the rules. */
  keepOnly(rules: readonly Rule[]): void {
    this.addresses.keepOnly(rules);
    this.shared.keepOnly(rules);
  }

  /** Takes in what the table has that a service before this one has loaded. Devices still use these addresses. */
  takeOver(listing: string): void {
    const rules = this.deps.rules().filter(({ names }) => names.length > 0);
    for (const [index, addresses] of namedListed(listing, rules).entries()) {
      const [rule] = rules.slice(index, index + 1);
      if (rule !== undefined) this.addresses.learn(rule, null, addresses, SHORTEST_MS);
    }
  }

  /** Forgets what no device uses any more. */
  async expire(): Promise<void> {
    if (this.addresses.expired().size === 0) return;
    this.addresses.renew(await this.deps.connectedTo(), USED_MS);
    await this.deps.load();
  }

  private has(rule: Rule): boolean {
    return this.deps.rules().includes(rule);
  }

  private load(): Promise<void> {
    let learnt = 0;
    const begin = () => {
      this.next = null;
      learnt = this.learnt;
    };
    this.next ??= this.deps.load(begin).then(() => {
      this.loaded = Math.max(this.loaded, learnt);
    });
    return this.next;
  }
}
