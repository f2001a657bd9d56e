import type { Database } from "bun:sqlite";
import { type Static, Type } from "typebox";
import { checkerOf } from "../checker.ts";
import { Provider, type Server } from "../servers/schema.ts";
import type { Storage, StoredList } from "../servers/storage.ts";
import { Config, configIn } from "../wireguard/schema.ts";
import {
  databaseIn,
  forgetDeleted,
  isDamaged,
  keepCopy,
  readOnlyCopyOf,
  reopened,
  unableTo,
} from "./database.ts";

/** A row of the servers, with its configuration decoded. */
export const StoredServer = Type.Object(
  {
    name: Type.String(),
    provider: Provider,
    label: Type.String(),
    country: Type.String(),
    city: Type.String(),
    location: Type.String(),
    config: Config,
  },
  { additionalProperties: false },
);

const row = checkerOf(StoredServer);

/** What a person has given a device of the LAN; null where they have not. */
export const StoredDevice = Type.Object(
  {
    id: Type.String(),
    name: Type.Union([Type.String(), Type.Null()]),
    exit: Type.Union([Type.String(), Type.Null()]),
  },
  { additionalProperties: false },
);
export type StoredDevice = Static<typeof StoredDevice>;

/** Something that happened; `at` in milliseconds since 1970, the content as JSON. */
export interface StoredEvent {
  at: number;
  content: string;
}

/** Rewriting the whole file blocks the process, for seconds on a slow card with a full store. */
const SCRUB_EVERY_MS = 60_000;

/** More than there are providers with accounts. */
const MOST_LISTS = 5;

/**
 * The setting that has the alert until people have been told: it may not be the service that opens a damaged database
 * first, but the clock's unit at boot, or a command.
 */
const ALERT = "alert";

/** Keeps servers, lists and a few settings across restarts, in one file that only root can read. */
export class Store implements Storage {
  /** Whether the next removal leaves no copy at once; after one, others wait for their turn. */
  private scrubsAtOnce = true;
  /** Whether copies of what was removed may be left, as they are where the service was killed. */
  private isScrubbed = false;

  private constructor(
    private readonly directory: string,
    private database: Database,
    /** One sentence if stored data was damaged and set aside, and nobody has been told yet. */
    readonly alert: string | null,
    /** Whether the database is a read-only copy in memory. */
    private isCopy = false,
  ) {}

  /**
   * `now`, in milliseconds since 1970, is used in the name of a database that is set aside. If the disk is full or
   * read-only, stored data can still be read, and each write tries to open the database again.
   */
  static open(directory: string, now: number): Store {
    try {
      return Store.openOnDisk(directory, now);
    } catch (error) {
      const copy = readOnlyCopyOf(directory);
      if (copy === null) throw error;
      return new Store(directory, copy, null, true);
    }
  }

  private static openOnDisk(directory: string, now: number): Store {
    const { database, alert } = databaseIn(directory, now);
    const lost = database
      .query("SELECT * FROM servers")
      .all()
      .filter((each) => decoded(each) === null);
    if (lost.length === 0) return Store.alerting(directory, database, alert);
    const copy = unableTo("be copied", () => keepCopy(database, directory, now));
    for (const each of lost) unableTo("be repaired", () => deleteRow(database, each as RowKey));
    const servers = lost.length === 1 ? "One stored server" : `${lost.length} stored servers`;
    const sentence = `${servers} could not be read; the database as it was is kept as ${copy}.`;
    return Store.alerting(directory, database, sentence);
  }

  private static alerting(directory: string, database: Database, alert: string | null): Store {
    const store = new Store(directory, database, alert);
    if (alert === null) return new Store(directory, database, store.read(ALERT));
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
    this.database.close();
    this.database = database;
    this.isCopy = false;
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
    this.change((database) =>
      database.query("INSERT OR REPLACE INTO settings VALUES ($key, $value)").run({ key, value }),
    );
  }

  settings(): Record<string, string> {
    const rows = this.database.query("SELECT key, value FROM settings ORDER BY key").values();
    return Object.fromEntries(rows as [string, string][]);
  }

  forget(key: string): void {
    this.change((database) => database.query("DELETE FROM settings WHERE key = $key").run({ key }));
  }

  devices(): StoredDevice[] {
    return this.database.query("SELECT * FROM devices ORDER BY id").all() as StoredDevice[];
  }

  /** Replaces the device of that id, or removes it if it has neither name nor exit. */
  saveDevice({ id, name, exit }: StoredDevice): void {
    this.change((database) =>
      name === null && exit === null
        ? database.query("DELETE FROM devices WHERE id = $id").run({ id })
        : database.query("INSERT OR REPLACE INTO devices VALUES ($id, $name, $exit)").run({ id, name, exit }),
    );
  }

  /** Adds events in this order, and removes all but the latest `most`. */
  addEvents(events: readonly StoredEvent[], most: number): void {
    this.atomically((database) => {
      const insert = database.query("INSERT INTO events (at, content) VALUES ($at, $content)");
      for (const { at, content } of events) insert.run({ at, content });
      database.query("DELETE FROM events WHERE id <= (SELECT max(id) FROM events) - $most").run({ most });
    });
  }

  /** The latest `most` with an id above `after` and below `before`, oldest first. */
  events(range: { after: number; before: number; most: number }): ({ id: number } & StoredEvent)[] {
    const latest = "SELECT * FROM events WHERE id > $after AND id < $before ORDER BY id DESC LIMIT $most";
    return this.database.query(`SELECT * FROM (${latest}) ORDER BY id`).all(range) as ({
      id: number;
    } & StoredEvent)[];
  }

  /**
   * The latest `most` whose time is in the range, oldest first, and the last state of each tunnel before the first of
   * them. The end is exclusive.
   */
  eventsDuring(range: { from: number; to: number; most: number }): {
    events: ({ id: number } & StoredEvent)[];
    before: ({ id: number } & StoredEvent)[];
  } {
    const { from, to, most } = range;
    const latest = "SELECT * FROM events WHERE at >= $from AND at < $to ORDER BY id DESC LIMIT $most";
    const events = this.database.query(`SELECT * FROM (${latest}) ORDER BY id`).all({ from, to, most }) as ({
      id: number;
    } & StoredEvent)[];
    // With max(), SQLite takes the other columns from the same row.
    const before = this.database
      .query(
        `SELECT max(id) AS id, at, content FROM events
        WHERE id < $first AND at < $to AND content ->> 'type' = 'tunnel_state' GROUP BY content ->> 'tunnel'`,
      )
      .all({ first: events[0]?.id ?? Number.MAX_SAFE_INTEGER, to }) as ({ id: number } & StoredEvent)[];
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
        .run({ source, others: MOST_LISTS - 1 });
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

  /** Erases all traces of removed or overwritten data, such as private keys. */
  scrub(): void {
    this.isScrubbed = forgetDeleted(this.database);
    this.scrubsAtOnce = false;
  }

  /** Scrubs what was removed since the last time, until `signal` says stop: clients could ask for it without end. */
  async keepScrubbed(
    clock: { sleep(ms: number, signal: AbortSignal): Promise<void> },
    signal: AbortSignal,
  ): Promise<void> {
    for (;;) {
      await clock.sleep(SCRUB_EVERY_MS, signal);
      if (signal.aborted) return;
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

  /** Why the database cannot be relied on, as a sentence, or null. Reads all of it. */
  fault(): string | null {
    if (this.isCopy) return "The database cannot be written; a copy in memory is used.";
    return isDamaged(this.database) ? "The database is damaged." : null;
  }

  close(): void {
    this.database.close();
  }

  private change(effect: (database: Database) => unknown): void {
    this.reopen();
    unableTo("be written", () => effect(this.database));
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
