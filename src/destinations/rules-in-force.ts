import { Unsaved } from "../base/errors.ts";
import { nextTurn, Queue } from "../base/queue.ts";
import type { Texts } from "../base/saved.ts";
import type { Named } from "../killswitch/destination-part.ts";
import type { Destination, PolicyPart } from "../killswitch/policy.ts";
import { onlyCloses } from "./closing.ts";
import { closed } from "./direct.ts";
import { inOrder, Matcher, type Rule } from "./rules.ts";
import { DESTINATIONS } from "./saved.ts";

interface Deps {
  store: Texts;
  killSwitch: { update(owner: string, part: PolicyPart | null): Promise<void> };
  directAllowed: () => boolean;
  /** What a rule leads to its exit by names. */
  ledBy: (rule: Rule) => readonly Named[];
  /** What is refused besides. */
  refused: () => readonly Destination[];
  /** Called when others have taken the place of these. */
  onChange: (before: readonly Rule[]) => void;
}

/** The owner of the rules in the kill switch; never a tunnel's name. */
const OWNER = "DESTINATIONS";

/** The rules as the kernel and the database have them. One change is made after the other. */
export class RulesInForce {
  matcher: Matcher;
  /** Whether the database lacks a change that only blocks. */
  private isUnsaved = false;
  private readonly queue = new Queue();

  constructor(private readonly deps: Deps) {
    this.matcher = new Matcher(this.saved());
  }

  get all(): readonly Rule[] {
    return this.matcher.rules;
  }

  /** If either the database or the kernel refuses, both are as before. What only blocks is in force even if it is not saved. */
  change(edit: (rules: readonly Rule[]) => readonly Rule[]): Promise<void> {
    return this.queue.add(async () => {
      const before = this.all;
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
          this.deps.onChange(before);
          throw new Unsaved(error);
        }
        // The kill switch keeps trying to load the last rules.
        await this.put(before).catch(() => {});
        if (isSaved) this.restore(before);
        throw error;
      }
      this.deps.onChange(before);
    });
  }

  /** Takes those of the database, after the start or after another writer has changed it. */
  load(): Promise<void> {
    return this.queue.add(async () => {
      this.isUnsaved = false;
      const before = this.all;
      await this.put(this.saved());
      this.deps.onChange(before);
    });
  }

  /** Hands them to the kernel with the addresses that they have when it calls `begin`. */
  loadAddresses(begin?: () => void): Promise<void> {
    return this.queue.add(() => {
      begin?.();
      return this.put(this.all);
    });
  }

  /** Runs something between two changes. */
  between(work: () => Promise<void>): Promise<void> {
    return this.queue.add(work);
  }

  /** Saves what is in effect and could not be saved. The client that made the change was told. */
  async saveAgain(): Promise<void> {
    if (this.isUnsaved) await this.queue.add(async () => this.save(this.all)).catch(() => {});
  }

  private put(rules: readonly Rule[]): Promise<void> {
    this.matcher = new Matcher(rules);
    const led = rules.map((rule) => {
      const { names, prefixes, devices, exit } = rule;
      return { prefixes, devices, exit, ...(names.length > 0 && { named: this.deps.ledBy(rule) }) };
    });
    const destinations = [...led, ...this.deps.refused()];
    return this.deps.killSwitch.update(OWNER, destinations.length === 0 ? null : { destinations });
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
    const rules = inOrder(DESTINATIONS.read(this.deps.store));
    return this.deps.directAllowed() ? rules : rules.map(closed);
  }
}
