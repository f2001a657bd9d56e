import type { Database } from "bun:sqlite";
import { join } from "node:path";
import { type Static, Type } from "typebox";
import { type Clock, nextBeat } from "../base/beat.ts";
import type { Bus } from "../base/bus.ts";
import { objectOf } from "../base/object.ts";
import { Queue } from "../base/queue.ts";
import type { Provider, Server } from "../servers/schema.ts";
import type { Storage, StoredList } from "../servers/storage.ts";
import { MAX_NAME_CHARACTERS } from "../shared/bounds.ts";
import {
  copyInMemory,
  databaseIn,
  emptyLog,
  flushOnOverwrite,
  forgetDeleted,
  keepCopy,
  NAME,
  readLog,
  reopened,
  rewriteKeys,
  unableTo,
  writeBehind,
} from "./database.ts";
import { addEvents, eventIds, eventsBetween, eventsDuring, type StoredEvent } from "./event-rows.ts";
import { copyExits, copyExitsBehind, countChange, decidesExits, recoverExits } from "./exits.ts";
import { Flusher } from "./flusher.ts";
import { confirmList, fetchedAt, listIn, saveList } from "./list-rows.ts";
import { damagedServers, deleteServer, insertServer, placeServer, serversIn } from "./server-rows.ts";
import { type Answer, inThread } from "./thread.ts";
import { isTime, Times } from "./times.ts";

/** What a person has given a device of the LAN; null where they have not. */
export const StoredDevice = objectOf({
  id: Type.String({ maxLength: 50 }),
  name: Type.Union([Type.String({ maxLength: 2 * MAX_NAME_CHARACTERS }), Type.Null()]),
  exit: Type.Union([Type.String({ maxLength: 500 }), Type.Null()]),
});
export type StoredDevice = Static<typeof StoredDevice>;

/** Rewriting tables blocks the process, and wears the card. */
const SCRUB_EVERY_MS = 60_000;
/** A home's servers take some 100 KiB. Whoever fills the store could have more than that written each minute. */
const SCRUBBED_BYTES_PER_TURN = 1024 * 1024;

/** How often the log is copied before it is left for the next time: others may write each time meanwhile. */
const MAX_ATTEMPTS = 3;

/**
 * The setting that has the alert until people have been told: it may not be the service that opens a damaged database
 * first, but the clock's unit at boot, or a command.
 */
const ALERT = "alert";

export interface StoreEvents {
  /** Settings were written or forgotten, or should have been, whoever did it; the work that did it is done. */
  values_written: { keys: ReadonlySet<string> };
}
type Events = Pick<Bus<StoreEvents>, "publish">;

/** For a command, where nobody listens. */
const UNHEARD: Events = { publish: () => {} };

/** Keeps servers, lists and a few settings across restarts, in files that only root can read. */
export class Store implements Storage {
  private readonly times: Times;
  /** Whether the next removal leaves no copy at once; after one, others wait for their turn. */
  private scrubsAtOnce = true;
  /** Whether copies of what was removed may be left, as they are where the service was killed. */
  private isScrubbed = false;
  /** Whether the second copy of the exits is like the database. */
  private areExitsCopied = false;
  /** What the last time wrote beyond the turns since then. */
  private overdrawn = 0;
  /** Null as long as each write waits for the disk. */
  private flusher: Flusher | null = null;
  /** Waits to begin. */
  private emptying: Promise<boolean> | null = null;
  /** Under way, or waits. */
  private looking: Promise<Answer> | null = null;
  /** A thread that reads the database would hold up the one that copies its log. */
  private readonly threads = new Queue();
  /** Whether nothing was written since the log was emptied. */
  private isLogEmpty = false;
  /** The settings that were written, or forgotten, since that was published. */
  private readonly written = new Set<string>();

  private constructor(
    private readonly directory: string,
    private readonly bus: Events,
    private database: Database,
    /** One sentence if stored data was damaged and set aside, and nobody has been told yet. */
    readonly alert: string | null,
    /** Whether the database is a read-only copy in memory. */
    private isCopy = false,
  ) {
    this.times = new Times(join(directory, "times"));
    this.copyExits();
  }

  /**
   * `now`, in milliseconds since 1970, is used in the name of a database that is set aside. If the disk is full or
   * read-only, stored data can still be read, and each write tries to open the database again.
   */
  static open(directory: string, now: number, events: Events = UNHEARD): Store {
    try {
      return Store.openOnDisk(directory, now, events);
    } catch (error) {
      const copy = copyInMemory(directory);
      if (copy === null) throw error;
      return new Store(directory, events, copy, recoverExits(copy, directory, false), true);
    }
  }

  private static openOnDisk(directory: string, now: number, events: Events): Store {
    const { database, alert: damage } = databaseIn(directory, now);
    const exits = unableTo("written", () => recoverExits(database, directory, damage !== null));
    const alert = damage === null ? exits : `${damage} ${exits}`;
    const lost = damagedServers(database);
    if (lost.length === 0) return Store.alerting(directory, events, database, alert);
    const copy = unableTo("copied", () => keepCopy(database, directory, now));
    for (const each of lost) unableTo("repaired", () => deleteServer(database, each));
    const servers = lost.length === 1 ? "One stored server" : `${lost.length} stored servers`;
    const sentence = `${servers} could not be read; the database as it was is kept as ${copy}.`;
    return Store.alerting(directory, events, database, alert === null ? sentence : `${alert} ${sentence}`);
  }

  private static alerting(
    directory: string,
    events: Events,
    database: Database,
    alert: string | null,
  ): Store {
    const store = new Store(directory, events, database, alert ?? settingIn(database, ALERT));
    if (alert === null) return store;
    try {
      store.write(ALERT, alert);
    } catch {
      // The disk is full: this process at least has it.
    }
    return store;
  }

  /** To be called when people have been told of `alert`. */
  alertTold(): void {
    try {
      if (this.alert !== null) this.forget(ALERT);
    } catch {
      // The next start tells it again.
    }
  }

  /** Replaces the copy by the database; throws `GatewayError` if it still cannot be opened. */
  reopen(): void {
    if (!this.isCopy) return;
    const database = reopened(this.directory);
    try {
      unableTo("written", () => recoverExits(database, this.directory, false));
    } catch (error) {
      database.close();
      throw error;
    }
    this.database.close();
    this.database = database;
    if (this.flusher !== null) writeBehind(database);
    this.isCopy = false;
  }

  /**
   * From now on no write waits for the disk, which may take seconds: `flushed` does. What was written survives the end
   * of the process at once.
   */
  writeBehind(): void {
    this.flusher ??= new Flusher(join(this.directory, NAME), (flushed) => this.alongside(flushed));
    if (!this.isCopy) writeBehind(this.database);
  }

  /** Resolves once all that was written is on the disk; throws `GatewayError` if the disk fails. */
  async flushed(): Promise<void> {
    try {
      await this.flusher?.flushed();
    } catch (error) {
      unableTo("written", () => {
        throw error;
      });
    }
  }

  servers(): Server[] {
    return serversIn(this.database);
  }

  insert(server: Server): void {
    this.change((database) => insertServer(database, server));
  }

  place(server: Server): void {
    this.change((database) => placeServer(database, server));
  }

  remove(provider: Provider, name: string): void {
    this.change((database) => deleteServer(database, { provider, name }));
    this.isScrubbed = false;
    if (this.scrubsAtOnce) this.scrub();
  }

  /** The value of a setting, or null if it was never written. */
  read(key: string): string | null {
    return this.rowOf(key) ?? (isTime(key) ? (this.times.all[key] ?? null) : null);
  }

  private rowOf(key: string): string | null {
    return settingIn(this.database, key);
  }

  write(key: string, value: string): void {
    if (isTime(key)) this.writeTime(key, value);
    else
      this.changeSetting(key, (database) =>
        database.query("INSERT OR REPLACE INTO settings VALUES ($key, $value)").run({ key, value }),
      );
  }

  /** One in the database is of an earlier version, and would count. */
  private writeTime(...time: Parameters<Times["write"]>): void {
    unableTo("written", () => this.times.write(...time));
    const [key] = time;
    if (this.rowOf(key) !== null) this.forget(key);
  }

  settings(): Record<string, string> {
    const rows = this.database.query("SELECT key, value FROM settings ORDER BY key").values();
    return { ...this.times.all, ...Object.fromEntries(rows as [string, string][]) };
  }

  forget(key: string): void {
    this.changeSetting(key, (database) =>
      database.query("DELETE FROM settings WHERE key = $key").run({ key }),
    );
  }

  devices(): StoredDevice[] {
    return this.database.query("SELECT * FROM devices ORDER BY id").all() as StoredDevice[];
  }

  /** Replaces the device of that id, or removes it if it has neither name nor exit. */
  saveDevice({ id, name, exit }: StoredDevice): void {
    this.changeExits((database) =>
      name === null && exit === null
        ? database.query("DELETE FROM devices WHERE id = $id").run({ id })
        : database.query("INSERT OR REPLACE INTO devices VALUES ($id, $name, $exit)").run({ id, name, exit }),
    );
  }

  /** Adds events, and removes those with these ids. */
  addEvents(events: readonly StoredEvent[], surplus: readonly number[] = []): void {
    this.atomically((database) => addEvents(database, events, surplus));
  }

  eventIds(text: string): ReturnType<typeof eventIds> {
    return eventIds(this.database, text);
  }

  events(range: { after: number; before: number; most: number }): StoredEvent[] {
    return eventsBetween(this.database, range);
  }

  eventsDuring(range: { from: number; to: number; most: number }): ReturnType<typeof eventsDuring> {
    return eventsDuring(this.database, range);
  }

  list(source: string): StoredList | null {
    return listIn(this.database, source);
  }

  fetchedAt(source: string): number | null {
    return fetchedAt(this.database, source);
  }

  saveList(source: string, list: StoredList): void {
    const content = Bun.gzipSync(list.content);
    this.atomically((database) => saveList(database, source, { ...list, content }));
  }

  confirmList(source: string, fetched: number): void {
    this.change((database) => confirmList(database, source, fetched));
  }

  /** Copies the database as it is beside it, for people, before what cannot be used of it is removed; the copy's name. */
  keepCopy(now: number): string {
    return unableTo("copied", () => keepCopy(this.database, this.directory, now));
  }

  /** Erases all traces of removed or overwritten data, such as private keys. */
  scrub(): void {
    const isBehind = this.flusher !== null;
    const written = isBehind ? rewriteKeys(this.database) : forgetDeleted(this.database);
    this.isScrubbed = written !== null && !isBehind;
    this.overdrawn = written ?? 0;
    this.scrubsAtOnce = false;
    if (!isBehind || written === null) return;
    this.wrote();
    void this.emptyLog().then((isEmpty) => {
      this.isScrubbed = isEmpty;
    });
  }

  /**
   * Scrubs what was removed since the last time, until `signal` says stop: clients could ask for it without end. A store
   * that has more than a turn's worth waits for several turns.
   */
  async keepScrubbed(clock: Clock, signal: AbortSignal): Promise<void> {
    for (;;) {
      await nextBeat(clock, SCRUB_EVERY_MS, signal);
      if (signal.aborted) return;
      if (!this.areExitsCopied && this.flusher === null) this.copyExits();
      else if (!this.areExitsCopied) this.wrote();
      this.overdrawn = Math.max(0, this.overdrawn - SCRUBBED_BYTES_PER_TURN);
      if (this.overdrawn > 0) continue;
      this.scrubsAtOnce = this.isScrubbed;
      if (!this.isScrubbed) this.scrub();
    }
  }

  /** Writes everything that `work` writes, or nothing if it throws. */
  atomically(work: (database: Database) => void): void {
    this.change((database) => database.transaction(() => work(database)).immediate());
  }

  /** What `work` reads. */
  view<T>(work: (database: Database) => T): T {
    return work(this.database);
  }

  /** Why the database cannot be relied on, as a sentence, or null. Another thread reads all of it. */
  async fault(): Promise<string | null> {
    if (this.isCopy) return "The database cannot be written; a copy in memory is used.";
    const path = join(this.directory, NAME);
    // On a slow disk, checks that give up would leave more and more of them waiting, and the log's copy after them.
    this.looking ??= this.threads
      .add(() => inThread({ path, work: "look for damage" }))
      .finally(() => {
        this.looking = null;
      });
    const isDamaged = await this.looking;
    if (isDamaged === null) return "The database cannot be read.";
    if (isDamaged) return "The database is damaged.";
    return this.areExitsCopied ? null : "The second copy of the devices' exits, exits.db, cannot be written.";
  }

  close(): void {
    this.database.close();
  }

  private changeSetting(key: string, effect: (database: Database) => unknown): void {
    this.written.add(key);
    if (decidesExits(key)) this.changeExits(effect);
    else this.change(effect);
  }

  private changeExits(effect: (database: Database) => unknown): void {
    this.atomically((database) => {
      effect(database);
      countChange(database);
      this.areExitsCopied = false;
    });
  }

  private change(effect: (database: Database) => unknown): void {
    try {
      this.reopen();
      unableTo("written", () => effect(this.database));
    } catch (error) {
      // What only closes is in force all the same.
      this.publishWritten();
      throw error;
    }
    this.wrote();
    if (!this.areExitsCopied && this.flusher === null && !this.database.inTransaction) this.copyExits();
  }

  private wrote(): void {
    if (this.database.inTransaction) return;
    if (this.isLogEmpty) flushOnOverwrite(this.database, true);
    this.isLogEmpty = false;
    this.flusher?.wrote();
    this.publishWritten();
  }

  private publishWritten(): void {
    // Whoever has written them may still have to take them over.
    queueMicrotask(() => {
      const keys = new Set(this.written);
      this.written.clear();
      if (keys.size > 0) this.bus.publish({ type: "values_written", payload: { keys } });
    });
  }

  /** The second copy comes after what it is a copy of, and is written meanwhile. */
  private async alongside(flushed: Promise<boolean>): Promise<void> {
    if (!this.areExitsCopied && !this.isCopy) {
      this.areExitsCopied = true;
      await copyExitsBehind(this.database, this.directory, flushed).catch(() => {
        this.areExitsCopied = false;
      });
    }
    if (await flushed) void this.emptyLog();
  }

  /**
   * One after the other, and only one waits: on a slow disk each flush of a long log would start a worker of its own. One
   * that has begun may have given up before the latest writes.
   */
  private emptyLog(): Promise<boolean> {
    this.emptying ??= this.threads.add(() => {
      this.emptying = null;
      return this.emptyLogNow();
    });
    return this.emptying;
  }

  /** Other threads wait for the disk; nothing is left to wait for when the log is emptied here. */
  private async emptyLogNow(): Promise<boolean> {
    const { flusher } = this;
    const path = join(this.directory, NAME);
    for (let attempt = 0; attempt < MAX_ATTEMPTS && flusher !== null && !this.isCopy; attempt++) {
      const { writes } = flusher;
      let isCopied: Answer;
      {
        using reader = readLog(path);
        isCopied = reader && (await inThread({ path, work: "copy the log" }));
      }
      // The log was read to here, and nothing is written before it is empty.
      if (flusher.writes !== writes) continue;
      if (!isCopied || !emptyLog(this.database)) return false;
      this.isLogEmpty = true;
      flushOnOverwrite(this.database, false);
      return true;
    }
    return false;
  }

  /** If that fails, it is tried again with the next change, or within a minute. */
  private copyExits(): void {
    try {
      if (!this.isCopy) copyExits(this.database, this.directory);
      this.areExitsCopied = true;
    } catch {
      this.areExitsCopied = false;
    }
  }
}

function settingIn(database: Database, key: string): string | null {
  const found = database.query("SELECT value FROM settings WHERE key = $key").get({ key });
  return found === null ? null : (found as { value: string }).value;
}
