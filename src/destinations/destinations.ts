import type { Address, Prefix } from "../base/address.ts";
import type { AlertCode } from "../base/alert.ts";
import { GatewayError, Unsaved } from "../base/errors.ts";
import { nextTurn, Queue } from "../base/queue.ts";
import type { Texts } from "../base/saved.ts";
import { type Exits, formatExit } from "../devices/exit.ts";
import type { DeviceId } from "../devices/id.ts";
import type { Exit, PolicyPart } from "../killswitch/policy.ts";
import type { Host } from "../system/host.ts";
import { onlyCloses } from "./closing.ts";
import { explained } from "./explained.ts";
import { Names } from "./names.ts";
import { rowOf } from "./row.ts";
import { refuseBeside, ruleIn } from "./rule-in.ts";
import { inOrder, Matcher, type Rule } from "./rules.ts";
import { DESTINATIONS, targetOf } from "./saved.ts";
import type {
  Destination,
  DestinationBody,
  DestinationChange,
  DestinationList,
  Explanation,
} from "./schema.ts";

interface Deps {
  clock: Pick<Host, "now" | "monotonic" | "sleep">;
  store: Texts;
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
    exitOf(id: DeviceId): string;
    nameOf(id: DeviceId): string | null;
  };
  /** The table as the kernel has it, or null. */
  listing: () => Promise<string | null>;
  /** The addresses that devices have connections to. */
  connectedTo: () => Promise<ReadonlySet<Address>>;
  alarm: (code: AlertCode, message: string) => void;
  onChange: (count: number) => void;
}

/** The resolver that answers the LAN, as `DnsStatus` names its state. */
interface Resolving {
  readonly state: "on" | "off" | "elsewhere" | "failed";
  /** To be called when there may be names for the first time, or none any more. */
  update(): Promise<void>;
}

/** The owner of the rules in the kill switch; never a tunnel's name. */
const OWNER = "DESTINATIONS";
const SAVE_AGAIN_EVERY_MS = 15_000;

/** The rules that give the traffic to some destinations another exit than that of its device. */
export class Destinations {
  /** The addresses that names have. */
  readonly names: Names;
  /** How names are resolved; nobody does while nothing needs that. */
  resolving: Resolving = { state: "off", update: async () => {} };
  private matcher: Matcher;
  /** Whether the database lacks a change that only blocks. */
  private isUnsaved = false;
  private readonly queue = new Queue();

  constructor(private readonly deps: Deps) {
    this.matcher = new Matcher(this.saved());
    this.names = new Names({
      clock: deps.clock,
      rules: () => this.rules,
      load: (begin) =>
        this.queue.add(() => {
          begin?.();
          return this.put(this.rules);
        }),
      connectedTo: deps.connectedTo,
    });
  }

  /** The rules, for who looks destinations up. */
  get matching(): Matcher {
    return this.matcher;
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
    await this.change((rules) => {
      find(id, rules);
      return rules.filter((rule) => rule.id !== id);
    });
  }

  /** Which exit the traffic of a device to a name or an address takes, and why. */
  async explain(device: string, destination: string): Promise<Explanation> {
    const { devices, killSwitch } = this.deps;
    return explained(device, destination, {
      matcher: this.matcher,
      names: this.names,
      resolving: this.resolving.state,
      exitOf: (id) => devices.exitOf(id),
      nameOf: (id) => devices.nameOf(id),
      roadExitOf: (id) => this.roadExitOf(id),
      ownerOf: (prefix) => killSwitch.ownerOf(prefix),
      isOpen: (exit) => killSwitch.isOpen(exit),
      rowOf: (rule) => this.rowOf(rule),
      stands: await killSwitch.stands(),
    });
  }

  /** Hands the rules to the kill switch, after the start or after another writer has changed the database. */
  async load(): Promise<void> {
    await this.queue.add(async () => {
      this.isUnsaved = false;
      const before = this.rules;
      await this.put(this.saved());
      this.tell(before);
    });
    await this.settleNames();
  }

  /**
   * To be called before the kill switch is first loaded: devices still use the addresses that a service before this one
   * has led to exits. Nothing else is taken from its table.
   */
  async takeOver(): Promise<void> {
    if (!this.matcher.hasNames) return;
    const listing = await this.deps.listing().catch(() => null);
    if (listing === null) return;
    this.names.takeOver(listing);
    await this.queue.add(() => this.put(this.rules));
  }

  /** To be called before root takes the exit `direct` from everything that has it: those rules then block. */
  async closeDirect(): Promise<void> {
    if (!this.rules.some(({ exit }) => exit.to === "direct")) return;
    await this.change((rules) => rules.map(closed));
  }

  /** Runs the removal of a tunnel; throws if rules lead to it. None can lead to it meanwhile. */
  unlessUsed(tunnel: string, remove: () => Promise<void>): Promise<void> {
    return this.queue.add(async () => {
      const rule = this.rules.find(({ exit }) => formatExit(exit) === tunnel);
      if (rule === undefined) return remove();
      throw new GatewayError(
        "bad_request",
        `name: the rule ${rule.id} leads ${targetOf(rule)} to ${tunnel}; change or remove it first`,
      );
    });
  }

  /** How many rules there are by exit. */
  counts(): Record<string, number> {
    const byExit = Map.groupBy(this.rules, ({ exit }) => formatExit(exit));
    return Object.fromEntries([...byExit].map(([exit, rules]) => [exit, rules.length]));
  }

  /** Saves what is in effect and could not be saved, until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.deps.clock.sleep(SAVE_AGAIN_EVERY_MS, signal);
      // The client that made the change was told.
      if (this.isUnsaved) await this.queue.add(async () => this.save(this.rules)).catch(() => {});
      // The kill switch tells what it could not load.
      await this.names.expire().catch(() => {});
    }
  }

  private get rules(): readonly Rule[] {
    return this.matcher.rules;
  }

  private get here() {
    const { devices, killSwitch } = this.deps;
    return { exits: devices.exits, overlapOf: (prefix: Prefix) => killSwitch.ownerOf(prefix) };
  }

  /** If either the database or the kernel refuses, both are as before. */
  private async change(edit: (rules: readonly Rule[]) => readonly Rule[]): Promise<void> {
    await this.queue.add(async () => {
      const before = this.rules;
      const after = inOrder(edit(before));
      const applied = this.put(after);
      applied.catch(() => {});
      let isSaved = false;
      try {
        // The kernel's tools start in this turn, and run while the disk works.
        await nextTurn();
        this.save(after);
        isSaved = true;
        await applied;
      } catch (error) {
        if (!isSaved && onlyCloses(before, after)) {
          this.isUnsaved = true;
          await applied;
          this.tell(before);
          throw new Unsaved(error);
        }
        // The kill switch keeps trying to load the last rules.
        await this.put(before).catch(() => {});
        if (isSaved) this.restore(before);
        throw error;
      }
      this.tell(before);
    });
    await this.settleNames();
  }

  /** If that fails, it is tried again soon. */
  private settleNames(): Promise<void> {
    return this.resolving.update().catch(() => {});
  }

  private put(rules: readonly Rule[]): Promise<void> {
    this.matcher = new Matcher(rules);
    const led = this.names.ledBy(rules);
    const destinations = rules.map((rule) => {
      const { names, prefixes, devices, exit } = rule;
      return { prefixes, devices, exit, ...(names.length > 0 && { addresses: led.get(rule) ?? [] }) };
    });
    return this.deps.killSwitch.update(OWNER, rules.length === 0 ? null : { destinations });
  }

  /** What was saved, and then refused by the kernel, must not come back with the next start. */
  private restore(rules: readonly Rule[]): void {
    try {
      this.save(rules);
    } catch {
      this.isUnsaved = true;
    }
  }

  private save(rules: readonly Rule[]): void {
    DESTINATIONS.write(this.deps.store, rules);
    this.isUnsaved = false;
  }

  /** What root has not allowed blocks. */
  private saved(): Rule[] {
    const { directAllowed } = this.deps.devices.exits;
    const rules = inOrder(DESTINATIONS.read(this.deps.store));
    return directAllowed ? rules : rules.map(closed);
  }

  private tell(before: readonly Rule[] = this.rules): void {
    const change = directChange(before, this.rules);
    if (change !== null) this.deps.alarm("direct_changed", change);
    this.names.keepOnly(this.rules);
    this.deps.onChange(this.rules.length);
  }

  private rowOf(rule: Rule): Destination {
    const { killSwitch, devices } = this.deps;
    return rowOf(rule, {
      isOpen: killSwitch.isOpen(rule.exit),
      resolving: this.resolving.state,
      addresses: this.names.count(rule),
      ownerOf: (prefix) => killSwitch.ownerOf(prefix),
      nameOf: (id) => devices.nameOf(id) || id,
      isServed: (id) => this.roadExitOf(id) === null && devices.exitOf(id) !== "direct",
    });
  }

  /** The exit of a device on the road; null for others. */
  private roadExitOf(id: DeviceId): Exit | null {
    return this.deps.killSwitch.remote?.devices.find((device) => device.id === id)?.exit ?? null;
  }

  private newId(): string {
    for (;;) {
      const id = Buffer.from(crypto.getRandomValues(new Uint8Array(3))).toString("hex");
      if (!this.rules.some((rule) => rule.id === id)) return id;
    }
  }
}

function find(id: string, rules: readonly Rule[]): Rule {
  const found = rules.find((rule) => rule.id === id);
  if (found !== undefined) return found;
  throw new GatewayError("not_found", "id: there is no such rule; to list them: portcullis destinations");
}

function closed(rule: Rule): Rule {
  return rule.exit.to === "direct" ? { ...rule, exit: { to: "blocked" } } : rule;
}

/** What leaves outside the tunnel now, or does not any more, in sentences for people; null if that is as before. */
function directChange(before: readonly Rule[], after: readonly Rule[]): string | null {
  const targets = (rules: readonly Rule[]) => rules.filter(({ exit }) => exit.to === "direct").map(targetOf);
  const [had, has] = [targets(before), targets(after)];
  const [more, less] = [has.filter((each) => !had.includes(each)), had.filter((each) => !has.includes(each))];
  const sentences = [
    ...(more.length === 0 ? [] : [`Now direct, outside the tunnel: traffic to ${more.join(", ")}.`]),
    ...(less.length === 0 ? [] : [`No longer direct: traffic to ${less.join(", ")}.`]),
  ];
  return sentences.length === 0 ? null : sentences.join(" ");
}
