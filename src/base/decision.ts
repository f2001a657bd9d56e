import { type Clock, nextBeat } from "./beat.ts";
import { Unsaved } from "./errors.ts";
import { nextTurn, Queue } from "./queue.ts";

/** What a change does to what can pass. If it does both, it loosens. */
export type Effect = "loosens" | "tightens" | "neither";

/** One place where a decision takes effect, such as the kill switch, or the table of limits. */
export interface Part<Value> {
  /** What this place gets of the decision. While that is the same, `apply` is not called. Without it, each change is applied. */
  of?: (value: Value) => unknown;
  /**
   * Resolves once the value is in force here. If it throws, it is called with the former value. If that fails too, the
   * place itself tells of it, and keeps trying.
   */
  apply: (value: Value) => Promise<void>;
  /** Pure: it is asked before anything is changed. */
  effect: (before: Value, after: Value) => Effect;
  /**
   * Whether the places before it decide alone what passes, and it keeps trying. What tightens holds then even if it
   * refuses, and `change` throws its error.
   */
  follows?: boolean;
}

interface Deps<Value> {
  store: { atomically(work: () => void): void };
  /** What the database has. */
  read: () => Value;
  /** Writes what differs from what the database has, in one transaction. */
  write: (stored: Value, value: Value) => void;
  /** In the order in which they are applied. Those that do not loosen anything come first. */
  parts: readonly Part<Value>[];
  /** Called once a change is in force, saved or not, and after each `load`; not for a change that was refused. */
  changed?: (before: Value, after: Value) => void;
  /** What people are told of a change that is in force and could not be saved. */
  unsaved?: string;
}

/** For values that permit things, each of which a text stands for. */
export function effectBy<Value>(permitted: (value: Value) => readonly string[]): Part<Value>["effect"] {
  return (before, after) => {
    const [had, has] = [new Set(permitted(before)), new Set(permitted(after))];
    if (!has.isSubsetOf(had)) return "loosens";
    return had.isSubsetOf(has) ? "neither" : "tightens";
  };
}

/** The disk may be full for hours. */
const SAVE_AGAIN_EVERY_MS = 15_000;

/**
 * Something that people decide, in the database and in force. The value is immutable: a change makes another one.
 *
 * - A change that only tightens takes effect first. If it cannot be saved, it holds all the same, `change` throws
 *   `Unsaved`, and `keepSaved` tries again.
 * - Any other change is saved first: nothing is open for a moment that a restart would close. If it cannot be saved, it
 *   does not take effect.
 * - If a part refuses a change, all parts and the database are as before, and `change` throws its error.
 *
 * Changes run one after another. Each gets what the one before it has left.
 */
export class Decision<Value> {
  private current: Value;
  /** Whether the database lacks more than the next change. */
  private isUnsaved = false;
  /** Set while the database has what another writer has written, and this has not read. */
  private stale: { ready: Promise<unknown> | undefined } | null = null;
  private readonly queue = new Queue();

  constructor(private readonly deps: Deps<Value>) {
    this.current = deps.read();
  }

  /** What is in force, or is being put in force. */
  get value(): Value {
    return this.current;
  }

  /** Whether the database has what is in force. */
  get isSaved(): boolean {
    return !this.isUnsaved;
  }

  /**
   * Resolves once the new value is saved and in force. If `edit` throws, or returns what it was given, nothing changes.
   */
  change(edit: (value: Value) => Value | Promise<Value>): Promise<void> {
    return this.queue.add(async () => {
      const [before, after] = await this.edited(edit);
      if (after === before) return this.assertSaved(this.saveRest());
      const holds = this.holdsUnsaved(before, after);
      const fault = holds ? await this.tighten(before, after) : await this.loosen(before, after);
      this.deps.changed?.(before, after);
      if (fault !== null) throw fault;
    });
  }

  /**
   * Reads the value again and puts it in force, after the start or after another writer has changed the database. Changes
   * from now on wait for that, and those that wait already are made to what that writer has written; it waits for
   * `ready`, whatever comes of it.
   */
  reload(ready?: Promise<unknown>): Promise<void> {
    this.stale = { ready };
    return this.queue.add(async () => {
      for (const outcome of await this.readAgain(ready))
        if (outcome.status === "rejected") throw outcome.reason;
    });
  }

  /** Saves what is in force and could not be saved, until `signal` aborts. The client that made the change was told. */
  async keepSaved(clock: Clock, signal: AbortSignal): Promise<void> {
    for (;;) {
      await nextBeat(clock, SAVE_AGAIN_EVERY_MS, signal);
      if (signal.aborted) return;
      await this.retry();
    }
  }

  /** Tries that once. */
  async retry(): Promise<void> {
    if (this.isUnsaved) await this.queue.add(() => this.saveRest());
  }

  /** Runs work that no change overlaps. */
  between<T>(work: () => T | Promise<T>): Promise<T> {
    return this.queue.add(work);
  }

  private async readAgain(ready: Promise<unknown> | undefined): Promise<PromiseSettledResult<void>[]> {
    await ready?.catch(() => {});
    const before = this.current;
    this.current = this.deps.read();
    this.isUnsaved = false;
    this.stale = null;
    const applied = await Promise.allSettled(this.deps.parts.map((part) => part.apply(this.current)));
    this.deps.changed?.(before, this.current);
    return applied;
  }

  private async edited(edit: (value: Value) => Value | Promise<Value>): Promise<[Value, Value]> {
    for (;;) {
      // `reload` comes later, puts it in force again, and throws what fails.
      if (this.stale !== null) await this.readAgain(this.stale.ready);
      const before = this.current;
      const after = await edit(before);
      if (this.stale === null) return [before, after];
    }
  }

  /** Whether the change takes effect even if it cannot be saved. What is in force unsaved may be repeated. */
  private holdsUnsaved(before: Value, after: Value): boolean {
    const effects = this.deps.parts.map((part) => part.effect(before, after));
    const isRepeated = this.isUnsaved && Bun.deepEquals(before, after);
    return isRepeated || (effects.includes("tightens") && !effects.includes("loosens"));
  }

  /** Returns what failed although it holds, or null. */
  private async tighten(before: Value, after: Value): Promise<unknown> {
    const applied = this.put(before, after, true);
    applied.catch(() => {});
    // The kernel's tools start in this turn, and run while the disk works.
    await nextTurn();
    const fault = this.trySave(before, after);
    const late = await applied.catch((error: unknown) => this.refused(before, after, fault === null, error));
    if (fault === null) return late;
    this.isUnsaved = true;
    return new Unsaved(fault, this.deps.unsaved);
  }

  private async loosen(before: Value, after: Value): Promise<null> {
    this.save(before, after);
    await this.put(before, after, false).catch((error: unknown) => this.refused(before, after, true, error));
    return null;
  }

  /** Returns what was refused although it holds, or null. */
  private async put(before: Value, after: Value, holds: boolean): Promise<unknown> {
    this.current = after;
    let late: unknown = null;
    for (const part of this.changedParts(before, after))
      await part.apply(after).catch((error: unknown) => {
        if (!holds || part.follows !== true) throw error;
        late = error;
      });
    return late;
  }

  /** What is open is closed before the database has it no more. */
  private async refused(before: Value, after: Value, isSaved: boolean, error: unknown): Promise<never> {
    this.current = before;
    for (const part of this.changedParts(before, after).toReversed())
      await part.apply(before).catch(() => {});
    if (isSaved && this.trySave(after, before) !== null) this.isUnsaved = true;
    throw error;
  }

  private changedParts(before: Value, after: Value): Part<Value>[] {
    const loosens = (part: Part<Value>) => part.effect(before, after) === "loosens";
    const changed = this.deps.parts.filter(({ of }) => !of || !Bun.deepEquals(of(before), of(after)));
    return [...changed.filter((part) => !loosens(part)), ...changed.filter(loosens)];
  }

  /** What changes before have left unsaved. */
  private saveRest(): unknown {
    return this.isUnsaved && this.stale === null ? this.trySave(this.current, this.current) : null;
  }

  private assertSaved(fault: unknown): void {
    if (fault !== null) throw new Unsaved(fault, this.deps.unsaved);
  }

  private trySave(stored: Value, value: Value): unknown {
    try {
      this.save(stored, value);
      return null;
    } catch (error) {
      return error;
    }
  }

  private save(stored: Value, value: Value): void {
    const { store, read, write } = this.deps;
    const known = this.isUnsaved ? read() : stored;
    store.atomically(() => write(known, value));
    this.isUnsaved = false;
  }
}
