import { Database } from "bun:sqlite";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { placeBytes, placeBytesBehind } from "../system/files.ts";

/**
 * The keys of what decides about exits, beside the rows of the devices. Whatever is kept under one of these is in the
 * second copy, and what decides about exits is kept under no other.
 */
export const EXIT_KEYS = {
  defaultExit: "default_exit",
  direct: "direct",
  networks: "networks",
  destinations: "destinations",
  scheduledExits: "scheduled_exits",
  schedules: "schedules",
  schedulesDone: "schedules_done",
  /** Says, in one sentence, that the exits of devices were lost; until a person has chosen again. */
  lost: "exits_lost",
} as const;

const SETTINGS: readonly string[] = Object.values(EXIT_KEYS);

/** Counts the changes, so that an older database is recognized; missing before the first one. */
const COUNT = "exits_written";

const NAME = "exits.db";
const MODE = 0o600;
/** The version of the file's format. */
const VERSION = 1;

const NOT_LOST = "The names and exits of devices are as they were.";
const OLDER =
  "The database is missing, or older than what was last decided about devices: their names and exits are those of the second copy, exits.db.";
const LOST =
  "The exits of devices were lost with the database: until you choose the default exit, every device without an exit of its own is blocked. First give their exits back to the devices that had one, then type: portcullis default-exit main";

/** All that decides about exits, as rows of the database. */
interface Exits {
  devices: unknown[][];
  settings: unknown[][];
}

export function decidesExits(setting: string): boolean {
  return SETTINGS.includes(setting);
}

/** To be called in the transaction of each change. */
export function countChange(database: Database): void {
  const value = `${countIn(database) + 1}`;
  database.query("INSERT OR REPLACE INTO settings VALUES ($key, $value)").run({ key: COUNT, value });
}

/**
 * Gives the database the exits of the second copy if it has lost them: it was damaged, is missing, or is an older one. If
 * the copy is lost too, everything without an exit of its own is blocked. Returns one sentence for people, or null.
 */
export function recoverExits(database: Database, directory: string, wasDamaged: boolean): string | null {
  // First, because the service changes the database before the copy.
  const copy = copyIn(directory);
  const isLost = wasDamaged || (isEmpty(database) && (copy === "unreadable" || hasDamaged(directory)));
  if (typeof copy === "string") {
    if (isLost) block(database);
    // A version without the copy does not count.
    else if (countIn(database) === 0 && isDecided(database)) countChange(database);
    return isLost ? LOST : null;
  }
  const isOlder = countIn(database) < changesIn(copy);
  if (isOlder) replace(database, copy);
  return wasDamaged ? NOT_LOST : isOlder ? OLDER : null;
}

/**
 * Writes the second copy, unless it is as the database already. It is written only when people or schedules decide, and
 * replaced by one rename, so what damages the database rarely damages both.
 */
export function copyExits(database: Database, directory: string): void {
  const exits = exitsIn(database);
  if (!Bun.deepEquals(copyIn(directory), exits)) placeBytes(join(directory, NAME), copyOf(exits), MODE);
}

/** The same after a change, whose count is not in the copy yet, once `ready` resolves; other threads wait for the disk. */
export async function copyExitsBehind(
  database: Database,
  directory: string,
  ready: Promise<unknown>,
): Promise<void> {
  await placeBytesBehind(join(directory, NAME), copyOf(exitsIn(database)), MODE, ready);
}

/** Each decision waits for it: the tables are made once, and nothing is deleted from what is empty. */
function copyOf(exits: Exits): Uint8Array {
  empty ??= emptyCopy();
  const copy = Database.deserialize(empty);
  try {
    copy.transaction(() => insert(copy, exits))();
    return copy.serialize();
  } finally {
    copy.close();
  }
}

let empty: Uint8Array | null = null;

function emptyCopy(): Uint8Array {
  using copy = new Database(":memory:");
  copy.run("CREATE TABLE devices (id TEXT NOT NULL PRIMARY KEY, name TEXT, exit TEXT) STRICT");
  copy.run("CREATE TABLE settings (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT");
  copy.run(`PRAGMA user_version = ${VERSION}`);
  return copy.serialize();
}

function exitsIn(database: Database): Exits {
  const settings = database.query("SELECT key, value FROM settings ORDER BY key").values();
  return {
    devices: database.query("SELECT id, name, exit FROM devices ORDER BY id").values(),
    settings: settings.filter(([key]) => key === COUNT || decidesExits(`${key}`)),
  };
}

function copyIn(directory: string): Exits | "missing" | "unreadable" {
  const path = join(directory, NAME);
  if (!existsSync(path)) return "missing";
  let copy: Database | null = null;
  try {
    copy = Database.deserialize(readFileSync(path));
    const version = copy.query("PRAGMA user_version").values().flat()[0];
    const isSound = Bun.deepEquals(copy.query("PRAGMA quick_check(1)").values().flat(), ["ok"]);
    return version === VERSION && isSound ? exitsIn(copy) : "unreadable";
  } catch {
    return "unreadable";
  } finally {
    copy?.close();
  }
}

function changesIn({ settings }: Exits): number {
  return Number(settings.find(([key]) => key === COUNT)?.[1] ?? 0);
}

function countIn(database: Database): number {
  const found = database.query("SELECT value FROM settings WHERE key = $key").values({ key: COUNT });
  return Number(found[0]?.[0] ?? 0);
}

function replace(database: Database, exits: Exits): void {
  database.transaction(() => {
    database.run("DELETE FROM devices");
    for (const key of [COUNT, ...SETTINGS])
      database.query("DELETE FROM settings WHERE key = $key").run({ key });
    insert(database, exits);
  })();
}

function insert(database: Database, { devices, settings }: Exits): void {
  const device = database.query("INSERT INTO devices VALUES (?, ?, ?)");
  for (const row of devices) device.run(...(row as [string, string | null, string | null]));
  const setting = database.query("INSERT INTO settings VALUES (?, ?)");
  for (const row of settings) setting.run(...(row as [string, string]));
}

function block(database: Database): void {
  replace(database, {
    devices: [],
    settings: [
      [COUNT, "1"],
      [EXIT_KEYS.defaultExit, "blocked"],
      [EXIT_KEYS.lost, LOST],
    ],
  });
}

/** Whether the database has just been created: the service saves settings at its first start. */
function isEmpty(database: Database): boolean {
  return (
    database.query("SELECT 1 FROM settings UNION ALL SELECT 1 FROM devices LIMIT 1").values().length === 0
  );
}

function isDecided(database: Database): boolean {
  const { devices, settings } = exitsIn(database);
  return devices.length + settings.length > 0;
}

/** A power cut may come between the replacement of a damaged database and what follows from it. */
function hasDamaged(directory: string): boolean {
  return readdirSync(directory).some((name) => name.startsWith("portcullis.damaged-"));
}
