import { type Clock, nextBeat } from "./beat.ts";
import { nextTurn, Queue } from "./queue.ts";
import { type Forgettable, NotTakenBack, Unsaved } from "./unsaved.ts";

/** What a change does to what can pass. If it does both, it loosens. */
export type Effect = "loosens" | "tightens" | "neither";

/** One place where a decision takes effect, such as the kill switch, or the table of limits. */
export interface Part<Value> {
  /** What this place gets of the decision. While that is the same, `apply` is not called. Without it, each change is applied. */
  of?: (value: Value) => unknown;
  /**
   * Resolves once the value is in force here. If it throws, it is called with the former value. If that fails too, the
   * place itself reports it, and keeps trying.
   */
  apply: (value: Value) => Promise<void>;
  /** Pure: it is asked before anything is changed. */
  effect: (before: Value, after: Value) => Effect;
  /**
   * Whether the places before it decide alone what passes, and it keeps trying. What tightens holds then even if it
   * refuses, and `change` throws its error.
   */
  follows?: boolean;
  /** Whether it may take long, and keeps the order of its calls: only changes that depend on one another wait for it. */
  isSlow?: boolean;
}

interface Deps<Value> {
  store: {
    atomically(work: () => void): void;
    /** Leaves no copy of what was removed. */
    scrub?(): void;
  };
  /** What the database has. */
  read: () => Value;
  /** Whether the database has what `read` has returned. Otherwise that is saved at the next opportunity. */
  isStored?: (value: Value) => boolean;
  /** Writes what differs from what the database has, in one transaction. */
  write: (stored: Value, value: Value) => void;
  /** In the order in which they are applied. Those that do not loosen anything come first. */
  parts: readonly Part<Value>[];
  /** A value without an earlier change, if a slow part has refused that; what was changed since stays. */
  undo?: (value: Value, before: Value, after: Value) => Value;
  /** Called once a change is in force, saved or not, and after each `load`; not for a change that was refused. */
  changed?: (before: Value, after: Value) => void;
  /** What people read about a change that is in force and could not be saved. */
  unsaved?: Forgettable;
  /** What must leave no copy in the database's file once it is removed, whenever that can be saved. */
  secrets?: (value: Value) => readonly string[];
}

/** The others; null if there is none to remove. */
export function without<Entry>(all: readonly Entry[], isIt: (entry: Entry) => boolean): Entry[] | null {
  const others = all.filter((each) => !isIt(each));
  return others.length === all.length ? null : others;
}

/** For values that permit things, each of which a text stands for. */
export function effectBy<Value>(permitted: (value: Value) => readonly string[]): Part<Value>["effect"] {
  return (before, after) => {
    const [had, has] = [new Set(permitted(before)), new Set(permitted(after))];
    if (!has.isSubsetOf(had)) return "loosens";
    return had.isSubsetOf(has) ? "neither" : "tightens";
  };
}

type Answer = (ended: Promise<void> | void) => void;
type Edit<Value> = (value: Value) => Value | Promise<Value>;

/** A change that somebody wants. */
interface Wanted<Value> {
  readonly edit: Edit<Value>;
  /** The more, the later it was wanted. */
  readonly number: number;
  /** Those that were wanted later, and have gone ahead of it. */
  readonly later: Set<Wanted<Value>>;
  /** Whether it closes, and has done so before it waits. */
  isInForce: boolean;
}

interface Pending<Value> {
  before: Value;
  after: Value;
  wanted: Wanted<Value>;
  ended: Promise<unknown>;
}

/** What `tighten` returns if another writer has changed the database before it could save. */
const OVERTAKEN = Symbol("overtaken");

/** The disk may be full for hours. */
const SAVE_AGAIN_EVERY_MS = 15_000;
/** Of the changes that have gone ahead of one: each may take a millisecond, with a thousand devices. */
const MADE_IN_A_TURN = 4;

/**
 * Something that people decide, in the database and in force. The value is immutable: a change makes another one.
 *
 * - A change that only tightens takes effect first. If it cannot be saved, it holds all the same, `change` throws
 *   `Unsaved`, and `keepSaved` tries again.
 * - Any other change is saved first: nothing is open for a moment that a restart would close. If it cannot be saved, it
 *   does not take effect.
 * - If a part refuses a change, all parts and the database are as before, and `change` throws its error. If the database
 *   cannot be written by then, `change` throws `NotTakenBack`, and `keepSaved` tries again.
 *
 * Changes run one after another. Each gets what the one before it has left. A slow part is the exception: the next
 * change does not wait for it, unless it depends on the change that this part still has to answer. What goes ahead of one
 * that waits is made again with it: the later decision counts.
 */
export class Decision<Value> {
  private current: Value;
  /** Whether the database lacks more than the next change. */
  private isUnsaved = false;
  /** Set while the database has what another writer has written, and this has not read. */
  private stale: { ready: Promise<unknown> | undefined } | null = null;
  /** The last change of slow parts, until they have answered. */
  private pending: Pending<Value> | null = null;
  /** Those that wait for it. */
  private readonly waiting = new Set<Wanted<Value>>();
  private count = 0;
  private readonly queue = new Queue();

  constructor(private readonly deps: Deps<Value>) {
    this.current = this.read();
  }

  /** What is in force, or is being put in force. */
  get value(): Value {
    return this.current;
  }

  /** Whether the database has what is in force. */
  get isSaved(): boolean {
    return !this.isUnsaved;
  }

  /** Whether this has read what another writer has written. */
  get isRead(): boolean {
    return this.stale === null;
  }

  /** What a restart would find. */
  get saved(): Value {
    return this.isUnsaved ? this.deps.read() : this.current;
  }

  /**
   * Resolves once the new value is saved and in force. If `edit` throws, or returns what it was given, nothing changes. It
   * may be called several times.
   */
  change(edit: Edit<Value>): Promise<void> {
    return this.wait({ edit, number: this.count++, later: new Set(), isInForce: false });
  }

  /**
   * The same for a removal, which may be repeated as long as the database has what is gone. `remove` returns null if there
   * is nothing to remove; if the database has nothing either, `missing` is thrown.
   */
  remove(remove: (value: Value) => Value | null, missing: Error): Promise<void> {
    return this.change((value) => {
      const after = remove(value);
      if (after === null && remove(this.saved) === null) throw missing;
      return after ?? value;
    });
  }

  /**
   * Reads the value again and puts it in force, after the start or after another writer has changed the database. Changes
   * from now on wait for that, and those that wait already are made to what that writer has written; it waits for
   * `ready`, whatever comes of it.
   */
  reload(ready?: Promise<unknown>): Promise<void> {
    this.stale = { ready };
    return this.inTurn(async (answer) => {
      const refused = await this.readAgain(ready);
      const slow = this.deps.parts.filter(({ isSlow }) => isSlow).map((part) => part.apply(this.current));
      if (refused.length > 0) slow.push(Promise.reject(refused[0]));
      answer(slow.length === 0 ? undefined : Promise.all(slow).then(() => {}));
    });
  }

  /** Resolves once what was begun has had its turn; slow parts may still be at work. */
  drained(): Promise<void> {
    return this.queue.drained();
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

  /**
   * Runs work that no change overlaps, and after which none is taken back. `around` holds what else must not change; not
   * while slow parts are waited for. `isRead` tells whether that has read what another writer has written, as this has.
   */
  async between<T>(
    work: () => T | Promise<T>,
    around: <Done>(turn: () => Promise<Done>) => Promise<Done> = (turn) => turn(),
    isRead = () => true,
  ): Promise<T> {
    for (;;) {
      const done = await around(() =>
        this.queue.add(async () => {
          // `reload` comes later, or could not read it: then this throws.
          if (this.stale !== null) await this.readAgain(this.stale.ready);
          return this.pending === null && isRead() ? { value: await work() } : null;
        }),
      );
      if (done !== null) return done.value;
      await this.pending?.ended;
    }
  }

  private read(): Value {
    const value = this.deps.read();
    this.isUnsaved = this.deps.isStored?.(value) === false;
    return value;
  }

  private wait(wanted: Wanted<Value>): Promise<void> {
    return this.inTurn((answer) => this.make(wanted, answer));
  }

  /** The turn ends before what is answered with has. */
  private inTurn(work: (answer: Answer) => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => void this.queue.add(() => work(resolve).catch(reject)));
  }

  /** What closes comes first, as in a change. A place that fails keeps no other from it. */
  private async readAgain(ready: Promise<unknown> | undefined): Promise<unknown[]> {
    await ready?.catch(() => {});
    const before = this.current;
    this.current = this.read();
    this.stale = null;
    for (const { later } of this.waiting) later.clear();
    const refused: unknown[] = [];
    const parts = this.deps.parts.filter(({ isSlow }) => !isSlow);
    for (const part of inOrder(parts, before, this.current))
      await part.apply(this.current).catch((error: unknown) => refused.push(error));
    this.deps.changed?.(before, this.current);
    return refused;
  }

  private async make(wanted: Wanted<Value>, answer: Answer): Promise<void> {
    this.waiting.delete(wanted);
    const edit = editOf(wanted, this.deps.undo);
    const [before, after] = await this.edited(edit, wanted);
    const { pending } = this;
    const mustWait = pending !== null && !(await this.isApart(pending, wanted, before, after));
    if (this.stale !== null) return this.make(wanted, answer);
    const holds = this.holdsUnsaved(before, after);
    if (mustWait && (!holds || this.changedParts(before, after, true).length > 0))
      return this.waitFor(pending, wanted, answer);
    if (after === before || (wanted.isInForce && Bun.deepEquals(before, after)))
      return answer(this.assertSaved(this.saveRest()));
    const fault = holds ? await this.tighten(before, after) : await this.loosen(before, after);
    if (fault === OVERTAKEN) return this.make(wanted, answer);
    for (const { number, later } of this.waiting) if (number < wanted.number) later.add(wanted);
    // What it has closed is closed. What else it has decided may be taken back with the other.
    wanted.isInForce = mustWait;
    if (mustWait) return this.waitFor(pending, wanted, answer);
    const ended = this.putSlowly(before, after, wanted);
    ended?.catch(() => this.waiting.forEach(({ later }) => void later.delete(wanted)));
    if (fault === null) return answer(ended);
    if (ended === undefined) throw fault;
    answer(ended.then(() => Promise.reject(fault)));
  }

  private waitFor(pending: Pending<Value>, wanted: Wanted<Value>, answer: Answer): void {
    this.waiting.add(wanted);
    answer(pending.ended.then(() => this.wait(wanted)));
  }

  /** Whether it is the same change whatever comes of the one that slow parts still have to answer. */
  private async isApart(
    pending: Pending<Value>,
    { later, ...wanted }: Wanted<Value>,
    before: Value,
    after: Value,
  ): Promise<boolean> {
    if (this.changedParts(before, after, true).length > 0) return false;
    // That one may have gone ahead of it.
    const others = new Set([...later].filter((each) => each !== pending.wanted));
    const edit = editOf({ ...wanted, later: others }, this.deps.undo);
    return Promise.try(() => edit(this.undone(pending, before))).then(
      (alone) => Bun.deepEquals(this.undone(pending, after), alone),
      () => false,
    );
  }

  private undone({ before, after }: Pick<Pending<Value>, "before" | "after">, value: Value): Value {
    return this.deps.undo?.(value, before, after) ?? value;
  }

  private async edited(edit: Edit<Value>, { later }: Wanted<Value>): Promise<[Value, Value]> {
    for (;;) {
      // `reload` comes later, puts it in force again, and throws what fails.
      if (this.stale !== null) {
        await this.readAgain(this.stale.ready);
        // It does not wait now, so that has not forgotten them.
        later.clear();
      }
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
    const fault = this.stale === null ? this.trySave(before, after) : OVERTAKEN;
    const late = await applied.catch((error: unknown) => this.refused(before, after, fault === null, error));
    if (fault === null) return late;
    if (fault === OVERTAKEN) return fault;
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

  /** Ends once the slow parts have it, or it is taken back. Undefined if it is nothing to them. */
  private putSlowly(before: Value, after: Value, wanted: Wanted<Value>): Promise<void> | undefined {
    const parts = this.changedParts(before, after, true);
    if (parts.length === 0) this.deps.changed?.(before, after);
    if (parts.length === 0) return;
    const ended = this.applySlowly(parts, before, after);
    this.pending = { before, after, wanted, ended: ended.catch(() => {}) };
    return ended.then(() => this.deps.changed?.(before, after));
  }

  private async applySlowly(parts: readonly Part<Value>[], before: Value, after: Value): Promise<void> {
    try {
      for (const part of parts) await part.apply(this.current);
    } catch (error) {
      await this.queue.add(() => this.takeBack(before, after));
      await Promise.allSettled(parts.map((part) => part.apply(this.current)));
      await this.retry();
      throw this.isUnsaved ? new NotTakenBack(error) : error;
    } finally {
      this.pending = null;
    }
  }

  /** The database has what was before as soon as all is closed that the change has opened. */
  private async takeBack(before: Value, after: Value): Promise<void> {
    if (this.stale !== null) await this.readAgain(this.stale.ready);
    const present = this.current;
    this.current = this.undone({ before, after }, present);
    this.isUnsaved = true;
    await this.putBack(this.current, present, () => this.saveRest());
  }

  private async refused(before: Value, after: Value, isSaved: boolean, error: unknown): Promise<never> {
    this.current = before;
    const left = await this.putBack(before, after, () => (isSaved ? this.takeOut(before, after) : null));
    // Another change may have had it applied there meanwhile.
    for (const part of this.changedParts(before, after, true)) void part.apply(before).catch(() => {});
    if (left !== null) {
      this.isUnsaved = true;
      throw new NotTakenBack(error);
    }
    throw error;
  }

  /** First what was open is closed, then it is removed from the database, and after that what was closed opens. */
  private async putBack(before: Value, after: Value, save: () => unknown): Promise<unknown> {
    const parts = this.changedParts(before, after).toReversed();
    const opens = (part: Part<Value>) => part.effect(before, after) === "tightens";
    for (const part of parts) if (!opens(part)) await part.apply(before).catch(() => {});
    const fault = save();
    for (const part of parts) if (opens(part)) await part.apply(before).catch(() => {});
    return fault;
  }

  /** Takes a change out of the database. What another writer has written since stays, and is read soon. */
  private takeOut(before: Value, after: Value): unknown {
    if (this.stale === null) return this.trySave(after, before);
    try {
      const stored = this.deps.read();
      const value = Bun.deepEquals(stored, after) ? before : this.undone({ before, after }, stored);
      if (!Bun.deepEquals(stored, value)) this.save(stored, value);
      return null;
    } catch (error) {
      return error;
    }
  }

  private changedParts(before: Value, after: Value, slow = false): Part<Value>[] {
    const changed = this.deps.parts.filter(
      ({ of, isSlow = false }) => isSlow === slow && !(of && Bun.deepEquals(of(before), of(after))),
    );
    return inOrder(changed, before, after);
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
    const { store, read, write, secrets } = this.deps;
    const known = this.isUnsaved ? read() : stored;
    store.atomically(() => write(known, value));
    this.isUnsaved = false;
    if (secrets && !new Set(secrets(known)).isSubsetOf(new Set(secrets(value)))) store.scrub?.();
  }
}

/** The change, and after it what still stands of those that have gone ahead of it. */
function editOf<Value>({ edit, later }: Wanted<Value>, undo: Deps<Value>["undo"]): Edit<Value> {
  return async (value) => {
    const ahead = [...later].sort((one, other) => one.number - other.number);
    // Made again in their order they end where they have ended, unless a later one has made an earlier one impossible.
    const doAllStand = Bun.deepEquals(await madeAgain(ahead, value), value);
    let edited: Value = await edit(value);
    for (const [index, each] of ahead.entries()) {
      if (index % MADE_IN_A_TURN === 0) await nextTurn();
      // What it would change now, another has changed since: that does not come back.
      const gone = doAllStand ? value : await madeAgain([each], value);
      const again = await madeAgain([each], edited);
      if (Bun.deepEquals(gone, value)) edited = again;
      else edited = undo?.(again, value, gone) ?? edited;
    }
    return edited;
  };
}

async function madeAgain<Value>(ahead: readonly Wanted<Value>[], value: Value): Promise<Value> {
  let edited = value;
  for (const [index, each] of ahead.entries()) {
    if (index > 0 && index % MADE_IN_A_TURN === 0) await nextTurn();
    try {
      edited = await each.edit(edited);
    } catch {
      // The change has taken away what that one was about.
    }
  }
  return edited;
}

function inOrder<Value>(parts: readonly Part<Value>[], before: Value, after: Value): Part<Value>[] {
  const loosens = (part: Part<Value>) => part.effect(before, after) === "loosens";
  return [...parts.filter((part) => !loosens(part)), ...parts.filter(loosens)];
}
