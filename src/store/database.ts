import { Database, SQLiteError } from "bun:sqlite";
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { type Code, GatewayError, NewerState } from "../base/errors.ts";
import { refused } from "./refusals.ts";

/** What each version adds to the one before; a version's number is the number of its steps. */
const STEPS: readonly (readonly string[])[] = [
  [
    `CREATE TABLE servers (
    provider TEXT NOT NULL, name TEXT NOT NULL, label TEXT NOT NULL, country TEXT NOT NULL, city TEXT NOT NULL,
    location TEXT NOT NULL, config TEXT NOT NULL, PRIMARY KEY (provider, name)
  ) STRICT, WITHOUT ROWID`,
    "CREATE TABLE settings (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
  ],
  [
    `CREATE TABLE lists (
    source TEXT NOT NULL PRIMARY KEY, etag TEXT NOT NULL, fetched INTEGER NOT NULL, content BLOB NOT NULL
  ) STRICT`,
  ],
  ["CREATE TABLE devices (id TEXT NOT NULL PRIMARY KEY, name TEXT, exit TEXT) STRICT, WITHOUT ROWID"],
  // Only the oldest rows are ever removed, so no id is used again.
  [
    "CREATE TABLE events (id INTEGER NOT NULL PRIMARY KEY, at INTEGER NOT NULL, content TEXT NOT NULL) STRICT",
  ],
  // `at` is in minutes and in hours since 1970; the rows of one time lie together, because they are written together.
  [
    `CREATE TABLE history_subjects (
    id INTEGER NOT NULL PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (kind, name)
  ) STRICT`,
    `CREATE TABLE history_minutes (
    at INTEGER NOT NULL, subject INTEGER NOT NULL, rx INTEGER NOT NULL, tx INTEGER NOT NULL, PRIMARY KEY (at, subject)
  ) STRICT, WITHOUT ROWID`,
    `CREATE TABLE history_hours (
    at INTEGER NOT NULL, subject INTEGER NOT NULL, rx INTEGER NOT NULL, tx INTEGER NOT NULL, PRIMARY KEY (at, subject)
  ) STRICT, WITHOUT ROWID`,
  ],
  // A tunnel's name, or none for the uplink; times in tenths of a millisecond.
  [
    `CREATE TABLE history_quality_minutes (
    at INTEGER NOT NULL, name TEXT NOT NULL, asked INTEGER NOT NULL, lost INTEGER NOT NULL, took INTEGER NOT NULL,
    steps INTEGER NOT NULL, PRIMARY KEY (at, name)
  ) STRICT, WITHOUT ROWID`,
    `CREATE TABLE history_quality_hours (
    at INTEGER NOT NULL, name TEXT NOT NULL, asked INTEGER NOT NULL, lost INTEGER NOT NULL, took INTEGER NOT NULL,
    steps INTEGER NOT NULL, PRIMARY KEY (at, name)
  ) STRICT, WITHOUT ROWID`,
  ],
];
const VERSION = STEPS.length;

/** Opens the database of a state directory. A damaged one is replaced by an empty one, and `alert` says so. */
export function databaseIn(directory: string, now: number): { database: Database; alert: string | null } {
  return unableTo("opened", () => {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    chmodSync(directory, 0o700);
    const database = soundDatabase(directory);
    if (database !== null) return { database, alert: null };
    const aside = setAside(directory, now);
    const fresh = soundDatabase(directory);
    if (fresh === null) throw refused("database_damaged", { lost: "yes" });
    return {
      database: fresh,
      alert: `The database was damaged; it is kept as ${aside} and an empty one is in its place.`,
    };
  });
}

/** Opens the database of a state directory again; throws if it cannot be opened or is damaged. */
export function reopened(directory: string): Database {
  return unableTo("opened", () => {
    const database = soundDatabase(directory);
    if (database === null) throw refused("database_damaged", { lost: "no" });
    return database;
  });
}

/**
 * A copy of the database in memory, for a disk that is full or read-only, where SQLite cannot even open the file. Null if
 * there is no database, or only a damaged one.
 */
export function copyInMemory(directory: string): Database | null {
  let scratch: string | null = null;
  try {
    scratch = mkdtempSync(join(SCRATCH, "portcullis-copy-"));
    // The log contains the latest writes; SQLite makes a new index of it for the copy.
    for (const file of [NAME, `${NAME}-wal`]) {
      if (existsSync(join(directory, file))) copyFileSync(join(directory, file), join(scratch, file));
    }
    // A failed attempt to create a database leaves an empty file, which must not count as a gateway's state.
    const copy = statSync(join(scratch, NAME)).size > 0 ? soundDatabase(scratch) : null;
    // A database in memory cannot have a log.
    copy?.run("PRAGMA journal_mode = DELETE");
    const bytes = copy?.serialize() ?? null;
    copy?.close();
    return bytes && Database.deserialize(bytes, { strict: true });
  } catch {
    return null;
  } finally {
    if (scratch !== null) rmSync(scratch, { recursive: true, force: true });
  }
}

/** Whether the directory has a gateway's database. */
export function hasDatabase(directory: string): boolean {
  return existsSync(join(directory, NAME));
}

/** Copies the whole database into its directory, unreadable rows included; returns the copy's name. */
export function keepCopy(database: Database, directory: string, now: number): string {
  const name = freeName(directory, now);
  touch(join(directory, name));
  database.query("VACUUM INTO $path").run({ path: join(directory, name) });
  return name;
}

/**
 * Rewrites the tables that have keys and empties the write-ahead log, because SQLite leaves copies of rows that it has
 * moved within their table's pages, and older pages in the log. Pages that a table gives back are overwritten
 * (`secure_delete`), so no other table has such copies. Returns how many bytes the tables have, or null if it fails: the
 * deletion itself is done and safe.
 */
export function forgetDeleted(database: Database): number | null {
  const size = rewriteKeys(database);
  return size !== null && emptyLog(database) ? size : null;
}

/** The first half of it: the log still has the older pages. */
export function rewriteKeys(database: Database): number | null {
  try {
    database
      .transaction(() => {
        for (const table of TABLES_WITH_KEYS) {
          database.run(`CREATE TEMP TABLE kept AS SELECT * FROM ${table}`);
          database.run(`DELETE FROM ${table}`);
          database.run(`INSERT INTO ${table} SELECT * FROM kept`);
          database.run("DROP TABLE kept");
        }
      })
      .immediate();
    const sizes = database.query("SELECT pgsize FROM dbstat WHERE aggregate = 1 AND name IN (?, ?)");
    return sizes
      .values(...TABLES_WITH_KEYS)
      .flat()
      .reduce((sum: number, size) => sum + Number(size), 0);
  } catch {
    return null;
  }
}

/** Copies the rest of the log into the file and empties it; false if another program reads it, or the disk is full. */
export function emptyLog(database: Database): boolean {
  try {
    return database.query("PRAGMA wal_checkpoint(TRUNCATE)").values()[0]?.[0] === 0;
  } catch {
    return false;
  }
}

/**
 * Makes writes return once the kernel has them; they survive the end of the process, and a power cut once the log is
 * flushed. The log is copied into the file by `inThread` only, and a lock of another program is not waited for.
 */
export function writeBehind(database: Database): void {
  database.run("PRAGMA synchronous = NORMAL");
  database.run("PRAGMA wal_autocheckpoint = 0");
  database.run(`PRAGMA busy_timeout = ${LOCK_TIMEOUT_MS}`);
}

/**
 * SQLite flushes the log before it overwrites one from its beginning, because the frames of both could get mixed. An
 * empty one has none: its first write need not wait.
 */
export function flushOnOverwrite(database: Database, flushes: boolean): void {
  database.run(`PRAGMA synchronous = ${flushes ? "NORMAL" : "OFF"}`);
}

/**
 * Reads the log as it is now, until it is disposed of; null if it cannot. SQLite begins a log anew, and flushes it first,
 * once all of it is copied and nobody reads it: a write that came between the copy and `emptyLog` would wait for the disk.
 * What is written meanwhile is not copied.
 */
export function readLog(path: string): Disposable | null {
  let reader: Database | null = null;
  try {
    reader = new Database(path, { readwrite: true, create: false });
    reader.run("BEGIN");
    reader.run("SELECT count(*) FROM sqlite_schema");
    return reader;
  } catch {
    reader?.close();
    return null;
  }
}

/** Copies the log into the file and waits for the disk; writers and readers go on. Whether it was the whole log. */
export function hasCopiedLog(database: Database): boolean {
  const [row = []] = database.query("PRAGMA wal_checkpoint(PASSIVE)").values();
  const [busy, logged, copied] = row;
  return busy === 0 && logged === copied;
}

/** Whether SQLite finds damage in the file, all of which it reads. */
export function isDamaged(database: Database): boolean {
  try {
    return !Bun.deepEquals(quickCheck(database), ["ok"]);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return true;
  }
}

/** Runs an operation on the database; `what` completes the sentence "The database could not be …". */
export function unableTo<T>(what: string, effect: () => T): T {
  try {
    return effect();
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    const [code, reason] = reasonOf(error);
    throw refused("database_failed", { work: what, reason }, { code, cause: error });
  }
}

export const NAME = "portcullis.db";

/** A turn of the event loop must not take longer. */
const LOCK_TIMEOUT_MS = 20;

/** The servers' configurations, registrations with providers, and the saved connections of tunnels. */
const TABLES_WITH_KEYS = ["servers", "settings"] as const;

/** In memory, because the copy contains private keys and the disk accepts no writes. */
const SCRATCH = "/dev/shm";

/** The suffixes of the files that belong to a SQLite database. */
const SUFFIXES = ["", "-wal", "-shm", "-journal"];

/** Null if the file is not a database, or is damaged or another program's. Throws if it is of a newer version. */
function soundDatabase(directory: string): Database | null {
  // SQLite gives the other files of a database the mode of the database.
  for (const suffix of SUFFIXES) tighten(join(directory, NAME + suffix));
  touch(join(directory, NAME));
  const database = new Database(join(directory, NAME), { strict: true });
  let sound = false;
  try {
    prepare(database);
    refuseNewer(database, directory);
    sound = isSound(database);
  } catch (error) {
    if (!isDamage(error)) throw error;
  } finally {
    if (!sound) database.close();
  }
  return sound ? database : null;
}

function prepare(database: Database): void {
  database.run("PRAGMA busy_timeout = 2000");
  database.run("PRAGMA journal_mode = WAL");
  database.run("PRAGMA synchronous = FULL");
  // The bytes of a removed private key do not stay in the file.
  database.run("PRAGMA secure_delete = ON");
  // Rewriting a table leaves no temporary file on the disk.
  database.run("PRAGMA temp_store = MEMORY");
  const version = versionOf(database);
  // Current, of a newer version than this program, or another program's.
  if (version >= VERSION || !Bun.deepEquals(schemaOf(database), tablesOf(version))) return;
  database.transaction(() => {
    for (const table of STEPS.slice(version).flat()) database.run(table);
    database.run(`PRAGMA user_version = ${VERSION}`);
  })();
}

/** Each version adds to the tables: a number alone may be a damaged one, and other tables another program's. */
function refuseNewer(database: Database, directory: string): void {
  const present = new Set(schemaOf(database));
  if (versionOf(database) <= VERSION || present.size <= tablesOf(VERSION).length) return;
  if (!tablesOf(VERSION).every((table) => present.has(table))) return;
  throw new NewerState(
    `The database is of a newer version of Portcullis and stays as it is. Install that version again, or move ${join(directory, NAME)} away to begin with an empty one and start the service: sudo systemctl start portcullis`,
  );
}

/** The statements that create the tables of a version, by table name. */
function tablesOf(version: number): string[] {
  return STEPS.slice(0, version).flat().toSorted();
}

function isSound(database: Database): boolean {
  const same = Bun.deepEquals(schemaOf(database), tablesOf(VERSION));
  if (!same || versionOf(database) !== VERSION || !Bun.deepEquals(quickCheck(database), ["ok"])) return false;
  // A damaged header can make the database read-only, which only a write reveals. Undone, it does not wait for the disk.
  database.run("BEGIN");
  database.run(`PRAGMA user_version = ${VERSION}`);
  database.run("ROLLBACK");
  return true;
}

function quickCheck(database: Database): unknown[] {
  return database.query("PRAGMA quick_check(1)").values().flat();
}

function versionOf(database: Database): number {
  return Number(database.query("PRAGMA user_version").values().flat()[0]);
}

/** The statements that created the tables, by table name. */
function schemaOf(database: Database): unknown[] {
  return database.query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").values().flat();
}

/**
 * SQLITE_ERROR too: the statements are known to be correct, so the cause is the file. And SQLITE_READONLY: `touch` has
 * just opened the file for writing, so the cause is its header.
 */
function isDamage(error: unknown): boolean {
  return error instanceof SQLiteError && /^SQLITE_(NOTADB|CORRUPT.*|ERROR|READONLY)$/.test(error.code ?? "");
}

function setAside(directory: string, now: number): string {
  const name = freeName(directory, now);
  for (const suffix of SUFFIXES) {
    const path = join(directory, NAME + suffix);
    if (existsSync(path)) renameSync(path, join(directory, name + suffix));
  }
  return name;
}

/** A machine without a clock of its own may start at the same time every time: nothing is overwritten. */
function freeName(directory: string, now: number): string {
  const name = `portcullis.damaged-${new Date(now).toISOString()}.db`;
  return existsSync(join(directory, name)) ? freeName(directory, now + 1) : name;
}

function touch(path: string): void {
  closeSync(openSync(path, "a", 0o600));
}

function tighten(path: string): void {
  if (existsSync(path)) chmodSync(path, 0o600);
}

function reasonOf(error: unknown): [Code, string] {
  const code = String((error as { code?: unknown }).code);
  // SHMSIZE: no room for the index of the log.
  if (/^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|ENOSPC|EDQUOT)/.test(code))
    return ["storage_full", "the disk is full"];
  if (/^(SQLITE_READONLY|EROFS|EACCES|EPERM)/.test(code)) {
    return ["storage_full", "the state directory is read-only"];
  }
  if (/^SQLITE_BUSY/.test(code)) return ["unable", "another program has locked it"];
  return ["unable", `system error ${code}`];
}
