import type { Address, HostName, Prefix } from "../base/address.ts";
import type { Alarm } from "../base/alert.ts";
import { nextBeat } from "../base/beat.ts";
import type { Bus } from "../base/bus.ts";
import type { GatewayError } from "../base/errors.ts";
import type { Texts } from "../base/saved.ts";
import { Unsaved } from "../base/unsaved.ts";
import { type Exits, formatExit } from "../devices/exit.ts";
import type { DeviceId } from "../devices/id.ts";
import type { Exit, PolicyPart } from "../killswitch/policy.ts";
import { isOutside } from "../shared/exits.ts";
import type { Host } from "../system/host.ts";
import { closed, directChanges, isDirect } from "./direct.ts";
import { explained } from "./explained.ts";
import { type KeptText, Names } from "./names.ts";
import { refused } from "./refusals.ts";
import { rowOf } from "./row.ts";
import { refuseBeside, ruleIn } from "./rule-in.ts";
import type { Matcher, Rule } from "./rules.ts";
import { RulesInForce } from "./rules-in-force.ts";
import { targetOf } from "./saved.ts";
import type {
  Destination,
  DestinationBody,
  DestinationChange,
  DestinationList,
  Explanation,
} from "./schema.ts";

interface Deps {
  clock: Pick<Host, "now" | "monotonic" | "sleep" | "random">;
  store: Texts & { atomically(work: () => void): void };
  killSwitch: {
    update(owner: string, part: PolicyPart | null): Promise<void>;
    ownerOf(prefix: Prefix): string | null;
    isOpen(exit: Exit): boolean;
    stands(): Promise<boolean>;
    readonly remote: { devices: readonly { id: Prefix; exit: Exit }[] } | null;
  };
  devices: {
    /** Those that can be given now. */
    readonly exits: Exits;
    /** What root has decided about the exit `direct`. */
    readonly direct: { allowed: boolean };
    exitOf(id: DeviceId): string;
    nameOf(id: DeviceId): string | null;
  };
  /** The table as the kernel has it, or null. */
  listing: () => Promise<string | null>;
  /** The addresses that devices have connections to. */
  connectedTo: () => Promise<ReadonlySet<Address>>;
  /** What names have, over restarts. */
  kept: KeptText;
  alarm: Alarm;
  events: Pick<Bus<DestinationEvents>, "publish" | "published"> & Pick<Bus<ResolverEvents>, "subscribe">;
}

export interface DestinationEvents {
  destinations_update: { count: number };
  /** What needs the gateway's own resolver has changed: rules for names, or lists. */
  lookups_changed: null;
}

export interface ResolverEvents {
  /** Another resolver is in charge, or none. */
  dns_update: { readonly state: ResolverState };
}

type ResolverState = "on" | "off" | "elsewhere" | "failed";

const SAVE_AGAIN_EVERY_MS = 15_000;

/** The rules that give the traffic to some destinations another exit than that of its device. */
export class Destinations {
  /** The addresses that names have. */
  readonly names: Names;
  /** How names are resolved; they are not while nothing needs it. */
  private resolving: ResolverState = "off";
  /** Of the exit `direct`, that are under way. */
  private withdrawals = 0;
  private readonly inForce: RulesInForce;

  constructor(private readonly deps: Deps) {
    this.inForce = new RulesInForce({
      ...deps,
      directAllowed: () => deps.devices.exits.directAllowed,
      ledBy: (rule) => this.names.ledBy(rule),
      refused: () => this.names.refused,
      onChange: (before) => this.tell(before),
    });
    deps.events.subscribe("dns_update", ({ payload }) => {
      this.resolving = payload.state;
    });
    this.names = new Names({
      clock: deps.clock,
      rules: () => this.rules,
      load: (begin) => this.inForce.loadAddresses(begin),
      connectedTo: deps.connectedTo,
      kept: deps.kept,
    });
  }

  /** The rules, for looking up destinations. */
  get matching(): Matcher {
    return this.inForce.matcher;
  }

  list(): DestinationList {
    return { destinations: this.rules.map((rule) => this.rowOf(rule)) };
  }

  /** Resolves once the rule is saved and in the kernel. One that only blocks is in force even if it cannot be saved. */
  async add(body: DestinationBody): Promise<Destination> {
    const id = this.newId();
    await this.change((rules) => {
      // In its turn: a permission that was withdrawn before it must count.
      const rule = ruleIn(id, body, this.here);
      refuseBeside(rule, rules);
      return [...rules, rule];
    });
    return this.rowOf(find(id, this.rules));
  }

  async edit(id: string, change: DestinationChange): Promise<Destination> {
    let edited: Rule | undefined;
    await this.change((rules) => {
      const { names, prefixes, devices, exit, note } = find(id, rules);
      const others = rules.filter((rule) => rule.id !== id);
      const parts = { names: [...names], prefixes: [...prefixes], devices: [...devices] };
      const body = { ...parts, exit: formatExit(exit), note };
      edited = ruleIn(id, { ...body, ...change }, this.here);
      refuseBeside(edited, others);
      return [...others, edited];
    });
    return this.rowOf(edited ?? find(id, this.rules));
  }

  async remove(id: string): Promise<void> {
    await this.inForce.remove(id, missing()).finally(() => this.settleNames());
  }

  /** Which exit the traffic of a device to a name or an address takes, and why. `isListed`: whether a list blocks a name. */
  async explain(
    device: string,
    destination: string,
    isListed: (name: HostName, device: DeviceId) => boolean = () => false,
  ): Promise<Explanation> {
    const { devices, killSwitch } = this.deps;
    return explained(device, destination, {
      matcher: this.matching,
      names: this.names,
      resolving: this.resolving,
      isListed,
      exitOf: (id) => devices.exitOf(id),
      nameOf: (id) => devices.nameOf(id),
      remoteExitOf: (id) => this.remoteExitOf(id),
      ownerOf: (prefix) => killSwitch.ownerOf(prefix),
      isOpen: (exit) => killSwitch.isOpen(exit),
      rowOf: (rule) => this.rowOf(rule),
      stands: await killSwitch.stands(),
    });
  }

  /** Hands the rules to the kill switch, after the start or after another writer has changed the database. */
  async reload(ready?: Promise<unknown>): Promise<void> {
    await this.inForce.decision.reload(ready).finally(() => this.settleNames());
  }

  /**
   * To be called before the kill switch is first loaded: devices still use the addresses that a service before this
   * one has led to exits. Unknown ones are refused.
   */
  async takeOver(): Promise<void> {
    if (!this.matching.hasNames) return;
    const listing = await this.deps.listing().catch(() => null);
    if (listing === null) return;
    this.names.takeOver(listing);
    await this.inForce.loadAddresses();
  }

  /** Runs root's withdrawal of the exit `direct`. Rules that have it block, and none gets it meanwhile. */
  async closeDirect<T>(withdraw: () => Promise<T>): Promise<T> {
    this.withdrawals += 1;
    try {
      // At once, so that neither waits for the kernel to close the other. What could not be saved is in force all the same.
      const [, withdrawn] = await Promise.allSettled([this.blockDirect(), withdraw()]);
      // A restore may have brought one meanwhile, or the kernel has refused to block one: this does it, or says so.
      const [blocked] = await Promise.allSettled([this.blockDirect()]);
      // That something has no effect is worse than that it is not saved.
      const faults = [withdrawn, blocked].flatMap((each) =>
        each.status === "rejected" ? [each.reason] : [],
      );
      if (faults.length > 0) throw faults.find((each) => !(each instanceof Unsaved)) ?? faults[0];
      return (withdrawn as PromiseFulfilledResult<T>).value;
    } finally {
      this.withdrawals -= 1;
    }
  }

  /** Whether the rules are those that another writer has written. */
  get isRead(): boolean {
    return this.inForce.decision.isRead;
  }

  /** Runs work during which no rule changes. */
  unchanged<Done>(work: () => Promise<Done>): Promise<Done> {
    return this.inForce.decision.between(work);
  }

  /** Throws if rules lead to the tunnel. */
  assertUnused(tunnel: string): void {
    const rule = this.rules.find(({ exit }) => formatExit(exit) === tunnel);
    if (rule !== undefined)
      throw refused("rule_to_tunnel", { rule: rule.id, target: targetOf(rule), tunnel });
  }

  /** What leaves outside every tunnel now: names and networks. */
  get outside(): string[] {
    const open = this.rules.filter(
      ({ exit }) => isOutside(formatExit(exit)) && this.deps.killSwitch.isOpen(exit),
    );
    return open.flatMap(({ names, prefixes }) => [...names, ...prefixes]);
  }

  /** How many rules there are by exit. */
  counts(): Record<string, number> {
    const byExit = Map.groupBy(this.rules, ({ exit }) => formatExit(exit));
    return Object.fromEntries([...byExit].map(([exit, rules]) => [exit, rules.length]));
  }

  /** Saves what is not saved: what was not permitted when it was read blocks, also once `direct` is permitted again. */
  retry(): Promise<void> {
    return this.inForce.decision.retry();
  }

  /** Does that until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    await this.retry();
    while (!signal.aborted) {
      await nextBeat(this.deps.clock, SAVE_AGAIN_EVERY_MS, signal);
      await this.retry();
      // The kernel may have refused to block one while its permission was withdrawn.
      if (this.mustBlock && this.rules.some(isDirect))
        // In its turn: a restore that came before it may have brought a permission.
        await this.blockDirect(() => this.mustBlock).catch(() => {});
      // The kill switch tells what it could not load.
      await this.names.expire().catch(() => {});
    }
  }

  private get rules(): readonly Rule[] {
    return this.inForce.all;
  }

  private get here() {
    const { devices, killSwitch } = this.deps;
    const directAllowed = devices.exits.directAllowed && this.withdrawals === 0;
    return {
      exits: { ...devices.exits, directAllowed },
      overlapOf: (prefix: Prefix) => killSwitch.ownerOf(prefix),
    };
  }

  private get mustBlock(): boolean {
    return !this.deps.devices.direct.allowed && this.withdrawals === 0;
  }

  private blockDirect(must = () => true): Promise<void> {
    return this.change((rules) => (must() && rules.some(isDirect) ? rules.map(closed) : rules));
  }

  private async change(edit: (rules: readonly Rule[]) => readonly Rule[]): Promise<void> {
    // What is in force unsaved needs names, too.
    await this.inForce.change(edit).finally(() => this.settleNames());
  }

  /** It is retried soon if it fails. */
  private settleNames(): Promise<void> {
    return this.deps.events.published({ type: "lookups_changed", payload: null });
  }

  private tell(before: readonly Rule[]): void {
    for (const change of directChanges(before, this.rules)) this.deps.alarm("direct_changed", change);
    this.names.keepOnly(this.rules);
    this.deps.events.publish({ type: "destinations_update", payload: { count: this.rules.length } });
  }

  private rowOf(rule: Rule): Destination {
    const { killSwitch, devices } = this.deps;
    return rowOf(rule, {
      isOpen: killSwitch.isOpen(rule.exit),
      resolving: this.resolving,
      addresses: this.names.count(rule),
      others: this.names.others(rule),
      full: this.names.full(rule),
      isUnsaved: this.names.isUnsaved,
      ownerOf: (prefix) => killSwitch.ownerOf(prefix),
      nameOf: (id) => devices.nameOf(id) || id,
      isServed: (id) => this.remoteExitOf(id) === null && !isOutside(devices.exitOf(id)),
    });
  }

  /** The exit of a remote device; null for others. */
  private remoteExitOf(id: DeviceId): Exit | null {
    return this.deps.killSwitch.remote?.devices.find((device) => device.id === id)?.exit ?? null;
  }

  private newId(): string {
    for (;;) {
      const id = Math.floor(this.deps.clock.random() * 0x1000000)
        .toString(16)
        .padStart(6, "0");
      if (!this.rules.some((rule) => rule.id === id)) return id;
    }
  }
}

function find(id: string, rules: readonly Rule[]): Rule {
  const found = rules.find((rule) => rule.id === id);
  if (found !== undefined) return found;
  throw missing();
}

function missing(): GatewayError {
  return refused("rule_unknown");
}
