import type { Address, HostName } from "../base/address.ts";
import type { Soon } from "../base/soon.ts";
import type { DeviceId } from "../devices/id.ts";
import type { Named } from "../killswitch/destination-part.ts";
import { inOrderOfLookUps } from "../killswitch/named-sets.ts";
import type { Destination } from "../killswitch/policy.ts";
import { isOutsideExit } from "../shared/exits.ts";
import type { Host } from "../system/host.ts";
import { keptIn, keptText } from "./kept-addresses.ts";
import { LostAddresses } from "./lost-addresses.ts";
import { labelsOf, NamedAddresses } from "./named-addresses.ts";
import type { Match, Rule } from "./rules.ts";
import { SharedNames } from "./shared-names.ts";

/** Programs keep addresses for longer than their TTL says. */
const SHORTEST_MS = 3_600_000;
/** A time that is longer by no more than this need not be written at once. */
const WRITTEN_LATE_MS = 60_000;
/** For this long again while a connection uses the address. */
const USED_MS = 600_000;
/** Whose questions are remembered, each for the names that rules have. */
const MAX_ASKING_DEVICES = 256;

/** Addresses that a name of a rule has, who has asked, and for how long devices may use them. */
export interface NamedAnswer {
  match: Match<HostName>;
  device: DeviceId;
  addresses: readonly Address[];
  ttlMs: number;
}

/** A text that the next service reads: it outlives the service, and need not outlive the kernel. */
export interface KeptText {
  /** Null if there is none. */
  read(): string | null;
  write(text: string): void;
}

interface Deps {
  clock: Pick<Host, "now" | "monotonic">;
  rules: () => readonly Rule[];
  /** Hands the rules to the kernel, with the addresses that they have when it calls `begin`. */
  load: (begin?: () => void) => Promise<void>;
  /** The addresses that devices have connections to. */
  connectedTo: () => Promise<ReadonlySet<Address>>;
  /** What the names have, so that a restart changes nothing. */
  kept: KeptText;
}

/** Leads the addresses that names of rules have to the exits of the rules. */
export class Names {
  private readonly addresses: NamedAddresses;
  private readonly lost: LostAddresses;
  private readonly shared = new SharedNames();
  /** When each device has last asked for each name of a rule; the device that asked last is the last. */
  private readonly asked = new Map<DeviceId, Map<HostName, number>>();
  /** Counts what was learnt. */
  private learnt = 0;
  /** What the kernel has of it for certain. */
  private loaded = 0;
  /** The load that has not begun. All answers that come until then share it. */
  private next: Promise<void> | null = null;
  /** Whether what the next service would know could not be written, or is not yet. */
  isUnsaved = false;

  constructor(private readonly deps: Deps) {
    const monotonic = () => deps.clock.monotonic();
    this.addresses = new NamedAddresses(monotonic);
    this.lost = new LostAddresses(monotonic);
    // What devices have asked for again since the last writing is known for no longer than this, or was written.
    this.addresses.restore(keptIn(deps.kept.read()), deps.rules(), SHORTEST_MS);
  }

  /** To be called for each question about a name of a rule. */
  note({ by }: Match<HostName>, device: DeviceId): void {
    const own = this.asked.get(device) ?? new Map<HostName, number>();
    this.asked.delete(device);
    this.asked.set(device, own.set(by, this.deps.clock.now()));
    if (this.asked.size <= MAX_ASKING_DEVICES) return;
    const [oldest = device] = this.asked.keys();
    this.asked.delete(oldest);
  }

  /** Milliseconds since 1970; null if it never did since the start. */
  askedAt(name: HostName, device: DeviceId): number | null {
    return this.asked.get(device)?.get(name) ?? null;
  }

  /**
   * True once the kernel leads these addresses to the rule's exit. False if it does not, because the device has
   * too many, they cannot be written, or the rule has changed meanwhile: then no device may get them in an answer.
   */
  permit({ match: { rule, by }, device, addresses, ttlMs }: NamedAnswer): Soon<boolean> {
    if (!this.has(rule)) return false;
    const forMs = Math.max(ttlMs, SHORTEST_MS);
    const isLonger =
      forMs > SHORTEST_MS && this.addresses.isAnyOverIn(forMs - WRITTEN_LATE_MS, rule, by, addresses);
    const added = this.addresses.learn(rule, by, addresses, device, forMs);
    if (added === null) return false;
    // The kernel must never have what the next service does not know.
    if ((added.length > 0 || isLonger) && !this.save()) {
      this.addresses.forget(rule, by, added);
      return false;
    }
    if (added.length > 0) {
      this.lost.asked(rule.devices, added);
      this.learnt += 1;
    }
    return this.loaded === this.learnt || this.load().then(() => this.has(rule));
  }

  /** What a rule leads to its exit now. */
  ledBy(rule: Rule): Named[] {
    return this.addresses.ledBy(rule);
  }

  /** Addresses that are refused because it is not known which rules they belong to. */
  get refused(): Destination[] {
    return this.lost.refused;
  }

  of(rule: Rule, name: HostName): Address[] {
    return this.addresses.of(rule, name);
  }

  /**
   * The name that has the address and leads it, of a rule for the device, or for all devices (null); `lost` if it is refused
   * to these because nobody knows its name; null if no rule leads it.
   */
  leading(address: Address, device: DeviceId | null): Match<HostName> | "lost" | null {
    const [first] = this.addresses
      .namesAt(address, this.deps.rules())
      .filter(({ rule: { devices } }) => (device === null ? devices.length === 0 : devices.includes(device)))
      .map((match) => ({ match, exit: match.rule.exit, labels: labelsOf(match.by) }))
      .sort(inOrderOfLookUps);
    const isLost = this.lost.has(address, device) && (first === undefined || isOutsideExit(first.exit));
    return isLost ? "lost" : (first?.match ?? null);
  }

  /** To be called for each answer that no rule leads outside the tunnel: its addresses may be outside all the same. */
  noteOther(name: HostName, device: DeviceId, addresses: readonly Address[]): void {
    for (const rule of this.deps.rules()) {
      const { exit, names, devices } = rule;
      if (!isOutsideExit(exit) || names.length === 0) continue;
      if (devices.length > 0 && !devices.includes(device)) continue;
      const isShared = addresses.some((each) => this.addresses.namesAt(each, [rule]).length > 0);
      if (isShared) this.shared.note(rule, name);
    }
  }

  /** How many other names were seen on the addresses that the rule leads outside the tunnel. */
  others(rule: Rule): number {
    return this.shared.count(rule);
  }

  count(rule: Rule): number {
    return this.addresses.count(rule);
  }

  /** The devices whose answers can have no more addresses of the rule. */
  full(rule: Rule): DeviceId[] {
    return this.addresses.full(rule);
  }

  /** To be called after a change of the rules. */
  keepOnly(rules: readonly Rule[]): void {
    this.isUnsaved = this.addresses.keepOnly(rules) || this.isUnsaved;
    this.shared.keepOnly(rules);
    const known = new Set(rules.flatMap(({ names }) => names));
    for (const own of this.asked.values())
      for (const name of own.keys()) if (!known.has(name)) own.delete(name);
    if (this.isUnsaved) this.save();
  }

  /**
   * To be called with the table of a service before this one. What that has led to exits is known, or else it is refused
   * until devices ask again.
   */
  takeOver(listing: string): void {
    const known = new Set(keptIn(this.deps.kept.read()).map(({ address }) => address));
    const named = this.deps.rules().filter(({ names }) => names.length > 0);
    this.lost.find(listing, known, named);
  }

  /** Forgets what no device uses any more. */
  async expire(): Promise<void> {
    const isAnyOver = this.addresses.isAnyOver;
    if (isAnyOver) this.addresses.renew(await this.deps.connectedTo(), USED_MS);
    if (this.lost.expire() || isAnyOver) await this.deps.load();
    this.isUnsaved ||= isAnyOver;
    if (this.isUnsaved) this.save();
  }

  /** Whether the next service can know it. If not, it is tried again soon. */
  private save(): boolean {
    this.isUnsaved = true;
    try {
      this.deps.kept.write(keptText(this.addresses.all));
      this.isUnsaved = false;
    } catch {}
    return !this.isUnsaved;
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
