import type { Database } from "bun:sqlite";
import { join } from "node:path";
import { type Static, Type } from "typebox";
import { type Clock, nextBeat } from "../base/beat.ts";
import type { Bus } from "../base/bus.ts";
import { checkerOf } from "../base/checker.ts";
import { Name, Shown } from "../base/name.ts";
import { Queue } from "../base/queue.ts";
import { Provider, type Server } from "../servers/schema.ts";
import type { Storage, StoredList } from "../servers/storage.ts";
import { MAX_NAME_CHARACTERS } from "../shared/bounds.ts";
import { Config, configIn } from "../wireguard/schema.ts";
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
import { copyExits, copyExitsBehind, countChange, decidesExits, recoverExits } from "./exits.ts";
import { Flusher } from "./flusher.ts";
import { type Answer, inThread } from "./thread.ts";

/** A row of the servers, with its configuration decoded. */
export const StoredServer = Type.Object(
  {
    name: Name,
    provider: Provider,
    ...{ label: Shown, country: Shown, city: Shown, location: Shown },
    config: Config,
  },
  { additionalProperties: false },
);

const row = checkerOf(StoredServer);

/** What a person has given a device of the LAN; null where they have not. */
export const StoredDevice = Type.Object(
  {
    id: Type.String({ maxLength: 50 }),
    name: Type.Union([Type.String({ maxLength: 2 * MAX_NAME_CHARACTERS }), Type.Null()]),
    exit: Type.Union([Type.String({ maxLength: 500 }), Type.Null()]),
  },
  { additionalProperties: false },
);
export type StoredDevice = Static<typeof StoredDevice>;

/** Something that happened; `at` in milliseconds since 1970, the content as JSON. */
export interface StoredEvent {
  /** Greater than that of each earlier one. */
  id: number;
  at: number;
  content: string;
}

/** Rewriting tables blocks the process, and wears the card. */
const SCRUB_EVERY_MS = 60_000;
/** A home's servers take some 100 KiB. Whoever fills the store could have more than that written each minute. */
const SCRUBBED_BYTES_PER_TURN = 1024 * 1024;

/** How often the log is copied before it is left for the next time: others may write each time meanwhile. */
const MAX_ATTEMPTS = 3;

/** An event takes some hundred characters. A longer one is read as one that is damaged. */
const MAX_EVENT_CHARACTERS = 16_384;
const EVENT = `SELECT id, at, iif(length(content) <= ${MAX_EVENT_CHARACTERS}, content, '') AS content FROM events`;

/** More than there are providers with accounts. */
const MAX_LISTS = 5;

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

/** Keeps servers, lists and a few settings across restarts, in one file that only root can read. */
export class Store implements Storage {
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
    const exits = unableTo("be written", () => recoverExits(database, directory, damage !== null));
    const alert = damage === null ? exits : `${damage} ${exits}`;
    const lost = database
      .query("SELECT * FROM servers")
      .all()
      .filter((each) => decoded(each) === null);
    if (lost.length === 0) return Store.alerting(directory, events, database, alert);
    const copy = unableTo("be copied", () => keepCopy(database, directory, now));
    for (const each of lost) unableTo("be repaired", () => deleteRow(database, each as RowKey));
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
    const store = new Store(directory, events, database, alert);
    if (alert === null) return new Store(directory, events, database, store.read(ALERT));
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
      unableTo("be written", () => recoverExits(database, this.directory, false));
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
    this.flusher ??= new Flusher(join(this.directory, NAME), (isLong) => this.afterFlush(isLong));
    if (!this.isCopy) writeBehind(this.database);
  }

  /** Resolves once all that was written is on the disk; throws `GatewayError` if the disk fails. */
  async flushed(): Promise<void> {
    try {
      await this.flusher?.flushed();
    } catch (error) {
      unableTo("be written", () => {
        throw error;
      });
    }
  }

  servers(): Server[] {
    const rows = this.database.query("SELECT * FROM servers ORDER BY provider, name").all();
    return rows.flatMap((each) => decoded(each) ?? []);
  }

  insert(server: Server): void {
    const { name, provider, label, country, city, location } = server;
    const config = JSON.stringify(server.config);
    this.change((database) =>
      database
        .query("INSERT INTO servers VALUES ($provider, $name, $label, $country, $city, $location, $config)")
        .run({ provider, name, label, country, city, location, config }),
    );
  }

  remove(provider: Provider, name: string): void {
    this.change((database) => deleteRow(database, { provider, name }));
    this.isScrubbed = false;
    if (this.scrubsAtOnce) this.scrub();
  }

  /** The value of a setting, or null if it was never written. */
  read(key: string): string | null {
    const found = this.database.query("SELECT value FROM settings WHERE key = $key").get({ key });
    return found === null ? null : (found as { value: string }).value;
  }

  write(key: string, value: string): void {
    this.changeSetting(key, (database) =>
      database.query("INSERT OR REPLACE INTO settings VALUES ($key, $value)").run({ key, value }),
    );
  }

  settings(): Record<string, string> {
    const rows = this.database.query("SELECT key, value FROM settings ORDER BY key").values();
    return Object.fromEntries(rows as [string, string][]);
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
    this.atomically((database) => {
      const insert = database.query("INSERT OR REPLACE INTO events VALUES ($id, $at, $content)");
      for (const { id, at, content } of events) insert.run({ id, at, content });
      const remove = database.query("DELETE FROM events WHERE id = $id");
      for (const id of surplus) remove.run({ id });
    });
  }

  /** The ids of all events, oldest first, by whether their text contains this one. */
  eventIds(text: string): { containing: number[]; others: number[] } {
    const ids = this.database.query(
      "SELECT id FROM events WHERE (instr(content, $text) > 0) = $has ORDER BY id",
    );
    const idsOf = (has: number) => ids.values({ text, has }).flat() as number[];
    return { containing: idsOf(1), others: idsOf(0) };
  }

  /** The latest `most` with an id above `after` and below `before`, oldest first. */
  events(range: { after: number; before: number; most: number }): StoredEvent[] {
    const latest = `${EVENT} WHERE id > $after AND id < $before ORDER BY id DESC LIMIT $most`;
    return this.database.query(`SELECT * FROM (${latest}) ORDER BY id`).all(range) as StoredEvent[];
  }

  /**
   * The latest `most` whose time is in the range, oldest first, and the last state of each tunnel before the first of
   * them. The end is exclusive.
   */
  eventsDuring(range: { from: number; to: number; most: number }): {
    events: StoredEvent[];
    before: StoredEvent[];
  } {
    const { from, to, most } = range;
    const latest = `${EVENT} WHERE at >= $from AND at < $to ORDER BY id DESC LIMIT $most`;
    const events = this.database
      .query(`SELECT * FROM (${latest}) ORDER BY id`)
      .all({ from, to, most }) as StoredEvent[];
    // With max(), SQLite takes the other columns from the same row. A damaged one must not end the query.
    const tunnel = "CASE WHEN json_valid(content) THEN content ->> 'tunnel' END";
    const before = this.database
      .query(
        `SELECT max(id) AS id, at, content FROM events
        WHERE id < $first AND at < $to AND length(content) <= ${MAX_EVENT_CHARACTERS} AND instr(content, '"tunnel_state"') > 0 AND ${tunnel} IS NOT NULL
        GROUP BY ${tunnel}`,
      )
      .all({ first: events[0]?.id ?? Number.MAX_SAFE_INTEGER, to }) as StoredEvent[];
    return { events, before };
  }

  /** The last good list from a source; null if there is none, or if it cannot be unpacked. */
  list(source: string): StoredList | null {
    const found = this.database
      .query("SELECT etag, fetched, content FROM lists WHERE source = $source")
      .get({ source }) as { etag: string; fetched: number; content: Uint8Array<ArrayBuffer> } | null;
    if (found === null) return null;
    try {
      return { ...found, content: new TextDecoder().decode(Bun.gunzipSync(found.content)) };
    } catch {
      return null;
    }
  }

  /** When a source last gave or confirmed its list, in milliseconds since 1970; null if it never did. */
  fetchedAt(source: string): number | null {
    const found = this.database.query("SELECT fetched FROM lists WHERE source = $source").get({ source });
    return found === null ? null : (found as { fetched: number }).fetched;
  }

  /** Stores a list and removes the oldest ones, but not those between which the operator may change. */
  saveList(source: string, { etag, fetched, content }: StoredList): void {
    const packed = Bun.gzipSync(content);
    this.atomically((database) => {
      database
        .query(
          "DELETE FROM lists WHERE source NOT IN (SELECT source FROM lists WHERE source <> $source ORDER BY fetched DESC LIMIT $others)",
        )
        .run({ source, others: MAX_LISTS - 1 });
      database
        .query("INSERT INTO lists VALUES ($source, $etag, $fetched, $content)")
        .run({ source, etag, fetched, content: packed });
    });
  }

  /** Records that the stored list is still the source's current one. */
  confirmList(source: string, fetched: number): void {
    this.change((database) =>
      database.query("UPDATE lists SET fetched = $fetched WHERE source = $source").run({ source, fetched }),
    );
  }

  /** Copies the database as it is beside it, for people, before what cannot be used of it is removed; the copy's name. */
  keepCopy(now: number): string {
    return unableTo("be copied", () => keepCopy(this.database, this.directory, now));
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
      unableTo("be written", () => effect(this.database));
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

  /** The second copy comes after what it is a copy of. */
  private async afterFlush(isLong: boolean): Promise<void> {
    if (!this.areExitsCopied && !this.isCopy) {
      this.areExitsCopied = true;
      await copyExitsBehind(this.database, this.directory).catch(() => {
        this.areExitsCopied = false;
      });
    }
    if (isLong) void this.emptyLog();
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

interface RowKey {
  provider: string;
  name: string;
}

function deleteRow(database: Database, { provider, name }: RowKey): void {
  database.query("DELETE FROM servers WHERE provider = $provider AND name = $name").run({ provider, name });
}

/** The server in a row, or null if it is malformed. */
function decoded(stored: unknown): Server | null {
  const { config, ...rest } = stored as { config: string };
  try {
    const server: unknown = { ...rest, config: JSON.parse(config) };
    if (!row.Check(server)) return null;
    const parsed = configIn(server.config);
    return parsed && { ...server, config: parsed };
  } catch {
    return null;
  }
}
