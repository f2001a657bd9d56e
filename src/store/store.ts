import type { Database } from "bun:sqlite";
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import { Provider, type Server } from "../servers/schema.ts";
import type { Storage, StoredList } from "../servers/storage.ts";
import { Config } from "../wireguard/schema.ts";
import { databaseIn, forgetDeleted, keepCopy, readOnlyCopyOf, reopened, unableTo } from "./database.ts";

/** A server as a row holds it, its configuration decoded. */
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

const row = Compile(StoredServer);

/** What outlives the service: custom and imported servers and a few settings, in one file that only root reads. */
export class Store implements Storage {
  private constructor(
    private readonly directory: string,
    private database: Database,
    /** One sentence where stored data was damaged and set aside. */
    readonly alert: string | null,
    /** Whether a copy in memory that cannot be written stands in for the database. */
    private isCopy = false,
  ) {}

  /**
   * `now`, in milliseconds since 1970, goes into the name of a database that is set aside. Where the disk is full or
   * read-only, what is stored can be read all the same; each write then tries to open the database again.
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
    if (lost.length === 0) return new Store(directory, database, alert);
    const copy = unableTo("be copied", () => keepCopy(database, directory, now));
    for (const each of lost) unableTo("be repaired", () => deleteRow(database, each as RowKey));
    const servers = lost.length === 1 ? "One stored server" : `${lost.length} stored servers`;
    const told = `${servers} could not be read; the database as it was is kept as ${copy}.`;
    return new Store(directory, database, told);
  }

  /** Puts the database in the place of the copy; throws `GatewayError("unable")` where it still cannot be opened. */
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
    forgetDeleted(this.database);
  }

  /** The value of a setting, or null where it was never written. */
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

  /** The last good list from a source; null where there is none, or none that can be unpacked. */
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

  /** When a source last gave or confirmed its list, in milliseconds since 1970; null where it never did. */
  fetchedAt(source: string): number | null {
    const found = this.database.query("SELECT fetched FROM lists WHERE source = $source").get({ source });
    return found === null ? null : (found as { fetched: number }).fetched;
  }

  /** Keeps a list in place of all others: there is one source at a time. */
  saveList(source: string, { etag, fetched, content }: StoredList): void {
    const packed = Bun.gzipSync(content);
    this.atomically((database) => {
      database.query("DELETE FROM lists").run();
      database
        .query("INSERT INTO lists VALUES ($source, $etag, $fetched, $content)")
        .run({ source, etag, fetched, content: packed });
    });
  }

  /** The source says that its list is still the one that is kept. */
  confirmList(source: string, fetched: number): void {
    this.change((database) =>
      database.query("UPDATE lists SET fetched = $fetched WHERE source = $source").run({ source, fetched }),
    );
  }

  /** Leaves no copy of what was removed or written over: a private key, say. */
  scrub(): void {
    forgetDeleted(this.database);
  }

  /** All that `work` writes, or nothing where it throws. */
  atomically(work: (database: Database) => void): void {
    this.change((database) => database.transaction(() => work(database)).immediate());
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

/** The server in a row, or null where something else than the gateway wrote it. */
function decoded(stored: unknown): Server | null {
  const { config, ...rest } = stored as { config: string };
  try {
    const server: unknown = { ...rest, config: JSON.parse(config) };
    return row.Check(server) ? server : null;
  } catch {
    return null;
  }
}
