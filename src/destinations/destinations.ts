import type { Prefix } from "../base/address.ts";
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
  clock: Pick<Host, "sleep">;
  store: Texts;
  killSwitch: {
    update(owner: string, part: PolicyPart | null): Promise<void>;
    ownerOf(prefix: Prefix): string | null;
    isOpen(exit: Exit): boolean;
    stands(): Promise<boolean>;
  };
  devices: {
    /** Those that can be given now. */
    readonly exits: Exits;
    exitOf(id: DeviceId): string;
    nameOf(id: DeviceId): string | null;
  };
  alarm: (code: AlertCode, message: string) => void;
  onChange: (count: number) => void;
}

/** The owner of the rules in the kill switch; never a tunnel's name. */
const OWNER = "DESTINATIONS";
const SAVE_AGAIN_EVERY_MS = 15_000;

/** The rules that give the traffic to some destinations another exit than that of its device. */
export class Destinations {
  private matcher: Matcher;
  /** Whether the database lacks a change that only blocks. */
  private isUnsaved = false;
  private readonly queue = new Queue();

  constructor(private readonly deps: Deps) {
    this.matcher = new Matcher(this.saved());
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
      const { prefixes, devices, exit, note } = find(id, rules);
      const others = rules.filter((rule) => rule.id !== id);
      const body = { prefixes: [...prefixes], devices: [...devices], exit: formatExit(exit), note };
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

  /** Which exit the traffic of a device to an address takes, and why. */
  async explain(device: string, destination: string): Promise<Explanation> {
    const { devices, killSwitch } = this.deps;
    return explained(device, destination, {
      matcher: this.matcher,
      exitOf: (id) => devices.exitOf(id),
      nameOf: (id) => devices.nameOf(id),
      ownerOf: (prefix) => killSwitch.ownerOf(prefix),
      isOpen: (exit) => killSwitch.isOpen(exit),
      rowOf: (rule) => this.rowOf(rule),
      stands: await killSwitch.stands(),
    });
  }

  /** Hands the rules to the kill switch, after the start or after another writer has changed the database. */
  load(): Promise<void> {
    return this.queue.add(async () => {
      this.isUnsaved = false;
      await this.put(this.saved());
      this.tell();
    });
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
  private change(edit: (rules: readonly Rule[]) => readonly Rule[]): Promise<void> {
    return this.queue.add(async () => {
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
        if (isSaved) this.save(before);
        throw error;
      }
      this.tell(before);
    });
  }

  private put(rules: readonly Rule[]): Promise<void> {
    this.matcher = new Matcher(rules);
    const destinations = rules.map(({ prefixes, devices, exit }) => ({ prefixes, devices, exit }));
    return this.deps.killSwitch.update(OWNER, rules.length === 0 ? null : { destinations });
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
    this.deps.onChange(this.rules.length);
  }

  private rowOf(rule: Rule): Destination {
    const { killSwitch } = this.deps;
    return rowOf(rule, killSwitch.isOpen(rule.exit), (prefix) => killSwitch.ownerOf(prefix));
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
