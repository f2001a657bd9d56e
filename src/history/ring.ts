import type { Database } from "bun:sqlite";
import { nextTurn } from "../base/queue.ts";
import type { Store } from "../store/store.ts";
import type { Resolution } from "./schema.ts";

/** A tunnel or a device that has carried something. */
export interface Subject {
  kind: "tunnel" | "device";
  /** A tunnel's name, or a device's id. */
  name: string;
}

/** Bytes; for a device, as it sees them. */
export interface Carried {
  rx: number;
  tx: number;
}

/** What was carried in a minute, counted from 1970. */
export interface Minute {
  minute: number;
  amounts: readonly (Subject & Carried)[];
}

export const LENGTHS_MS: Readonly<Record<Resolution, number>> = { minute: 60_000, hour: 3_600_000 };
/** The number of times that have rows: a day and 61 days of a home that is never quiet. */
export const MAX_KEPT: Readonly<Record<Resolution, number>> = { minute: 1_440, hour: 1_464 };
/** A device that invents new devices must not fill the disk: this many take 20 MB. */
const MAX_SUBJECTS = 300;
/** It must not take the place of tunnels either, which have these in addition. */
const FOR_TUNNELS = 100;

const TABLES = { minute: "history_minutes", hour: "history_hours" } as const;
const RESOLUTIONS = ["minute", "hour"] as const;
/** The kind of a forgotten subject: its rows are removed in pieces. */
const REMOVED = "removed";
/** The minutes or hours that are read in one turn of the event loop: some 10 ms on a Pi with all subjects. */
const READ_AT_ONCE = 12;
/**
 * The limit in one turn of the event loop. The rows of one time lie together; those of one subject are on as many
 * pages.
 */
const REMOVED_AT_ONCE = 100;
/** The minutes or hours that a write removes: one for the new one, and one more so that a surplus shrinks. */
const PRUNED_AT_ONCE = 2;
/** 8 TiB in an hour. A larger or negative number is damaged. */
const MAX_BYTES = 2 ** 43;
export const MINUTES_PER_HOUR = 60;
const HOURS_PER_DAY = 24;

/**
 * The traffic of each minute and each hour. Both tables are written in one transaction, so an hour is always the sum of
 * its minutes. Their size is limited by the number of rows and not by age, because a clock can be wrong.
 */
export class Ring {
  /** The times that have rows; null if they must be read. */
  private times: Readonly<Record<Resolution, Set<number>>> | null = null;
  /** The day on which remains were last removed. */
  private tidied: number | null = null;
  private isRemoving = false;
  /** Subjects that are known to have rows, used while those without rows are searched. */
  private used: Set<number> | null = null;

  constructor(private readonly store: Pick<Store, "atomically" | "view">) {}

  /** Adds to the figures of all these minutes, or of none if the disk accepts no writes. */
  addAll(minutes: readonly Minute[]): void {
    try {
      this.store.atomically(() => {
        for (const { minute, amounts } of minutes) this.add(minute, amounts);
      });
    } catch (error) {
      // Some of them may have been added and removed again.
      this.times = null;
      throw error;
    }
  }

  /** Adds to the figures of a minute, counted from 1970. */
  add(minute: number, amounts: readonly (Subject & Carried)[]): void {
    const now = { minute, hour: Math.floor(minute / MINUTES_PER_HOUR) };
    const day = Math.floor(now.hour / HOURS_PER_DAY);
    this.times ??= this.store.view((database) => ({
      minute: timesIn(database, TABLES.minute),
      hour: timesIn(database, TABLES.hour),
    }));
    const { times } = this;
    const surplus = (resolution: Resolution) =>
      surplusOf(times[resolution], MAX_KEPT[resolution], now[resolution]);
    const old = { minute: surplus("minute"), hour: surplus("hour") };
    this.store.atomically((database) => {
      for (const { kind, name, rx, tx } of amounts) {
        const subject = idOf(database, { kind, name });
        if (subject === null) continue;
        this.used?.add(subject);
        for (const resolution of RESOLUTIONS)
          database
            .query(
              `INSERT INTO ${TABLES[resolution]} VALUES ($at, $subject, $rx, $tx)
              ON CONFLICT DO UPDATE SET rx = rx + excluded.rx, tx = tx + excluded.tx`,
            )
            .run({ at: now[resolution], subject, rx, tx });
      }
      for (const resolution of RESOLUTIONS)
        for (const at of old[resolution])
          database.query(`DELETE FROM ${TABLES[resolution]} WHERE at = $at`).run({ at });
    });
    for (const resolution of RESOLUTIONS) {
      times[resolution].add(now[resolution]);
      for (const at of old[resolution]) times[resolution].delete(at);
    }
    if (this.tidied !== day) void this.tidy();
    this.tidied = day;
  }

  /** Removes the remains of a process that was killed, and subjects that have no rows any more. */
  private async tidy(): Promise<void> {
    await this.removeForgotten();
    await this.forgetUnused();
  }

  private async forgetUnused(): Promise<void> {
    if (this.used !== null) return;
    const used = new Set<number>();
    this.used = used;
    try {
      for (const resolution of RESOLUTIONS)
        for (const { from, to } of this.pieces({ resolution, ...EVER })) {
          const subjects = `SELECT DISTINCT subject FROM ${TABLES[resolution]} WHERE at >= $from AND at < $to`;
          const found = this.store.view((database) => database.query(subjects).values({ from, to }).flat());
          for (const subject of found) used.add(Number(subject));
          await nextTurn();
        }
      const all = `SELECT id FROM history_subjects WHERE kind <> '${REMOVED}'`;
      const known = this.store.view((database) => database.query(all).values().flat().map(Number));
      const unused = known.filter((id) => !used.has(id));
      if (unused.length === 0) return;
      this.store.atomically((database) => {
        for (const id of unused) database.query("DELETE FROM history_subjects WHERE id = $id").run({ id });
      });
    } catch {
      // The next day does it.
    } finally {
      this.used = null;
    }
  }

  /** A range in pieces, each to be read in a turn of its own. Times without rows are left out. */
  *pieces({ resolution, from, to }: Range): Generator<Range> {
    const first = `SELECT min(at) AS at FROM ${TABLES[resolution]} WHERE at >= $from AND at < $to`;
    for (let next = from; ; next += READ_AT_ONCE) {
      const { at } = this.store.view((database) => database.query(first).get({ from: next, to })) as {
        at: number | null;
      };
      if (at === null) return;
      next = at;
      yield { resolution, from: at, to: Math.min(to, at + READ_AT_ONCE) };
    }
  }

  /**
   * The traffic of one subject, or of all tunnels, from one number of minutes or hours up to another, which is
   * excluded.
   */
  series(of: Subject | null, { resolution, from, to }: Range): ({ at: number } & Carried)[] {
    const who = of === null ? "kind = 'tunnel'" : "kind = $kind AND name = $name";
    return this.store.view(
      (database) =>
        database
          .query(
            `SELECT at, sum(rx) AS rx, sum(tx) AS tx FROM ${TABLES[resolution]}
            WHERE at >= $from AND at < $to AND ${IS_SOUND} AND subject IN (SELECT id FROM history_subjects WHERE ${who})
            GROUP BY at ORDER BY at`,
          )
          .all({ from, to, ...of }) as ({ at: number } & Carried)[],
    );
  }

  /** The traffic of each subject in a range, the highest first. */
  totals({ resolution, from, to }: Range): (Subject & Carried)[] {
    return this.store.view(
      (database) =>
        database
          .query(
            `SELECT kind, name, rx, tx FROM
            (SELECT subject, sum(rx) AS rx, sum(tx) AS tx FROM ${TABLES[resolution]}
              WHERE at >= $from AND at < $to AND ${IS_SOUND} GROUP BY subject)
            JOIN history_subjects ON id = subject WHERE kind <> '${REMOVED}' ORDER BY rx + tx DESC, name`,
          )
          .all({ from, to }) as (Subject & Carried)[],
    );
  }

  /** When the first and the last minute or hour with figures began, in milliseconds since 1970; null without any. */
  ends(): { first: number | null; last: number | null } {
    // Each query finds its row by the key. Together they would read the whole table.
    const end = (which: "min" | "max") =>
      RESOLUTIONS.map(
        (each) => `SELECT (SELECT ${which}(at) FROM ${TABLES[each]}) * ${LENGTHS_MS[each]} AS at`,
      ).join(" UNION ALL ");
    const query = `SELECT (SELECT min(at) FROM (${end("min")})) AS first, (SELECT max(at) FROM (${end("max")})) AS last`;
    return this.store.view((database) => database.query(query).get()) as {
      first: number | null;
      last: number | null;
    };
  }

  /** Whether anything was known about it. */
  forget(subject: Subject): boolean {
    const known = this.store.view((database) => idIn(database, subject));
    if (known === null) return false;
    this.store.atomically((database) =>
      database
        .query("UPDATE history_subjects SET kind = $kind, name = id WHERE id = $id")
        .run({ kind: REMOVED, id: known }),
    );
    void this.removeForgotten();
    return true;
  }

  /**
   * Removes the rows of a forgotten subject. If the disk accepts no writes, they stay until the next day's first write.
   */
  private async removeForgotten(): Promise<void> {
    if (this.isRemoving) return;
    this.isRemoving = true;
    try {
      for (let known = this.forgotten(); known.length > 0; known = this.forgotten())
        for (const resolution of RESOLUTIONS)
          for (let after: number | null = Number.MIN_SAFE_INTEGER; after !== null; await nextTurn())
            after = this.removeAfter(after, resolution, known);
    } catch {
      // Nobody sees them meanwhile.
    } finally {
      this.isRemoving = false;
      // Some may have no rows any more.
      this.times = null;
    }
  }

  private forgotten(): number[] {
    return this.store.view((database) =>
      database.query("SELECT id FROM history_subjects WHERE kind = $kind").values({ kind: REMOVED }).flat(),
    ) as number[];
  }

  /** Removes the rows of the next times; returns the last of these, or null if there are no more. */
  private removeAfter(after: number, resolution: Resolution, ids: readonly number[]): number | null {
    const table = TABLES[resolution];
    const last = (database: Database) =>
      database
        .query(
          `WITH RECURSIVE times(at, count) AS (
            SELECT (SELECT min(at) FROM ${table} WHERE at > $after), 1
            UNION ALL
            SELECT (SELECT min(at) FROM ${table} WHERE at > times.at), count + 1 FROM times
            WHERE count < $most AND at IS NOT NULL
          ) SELECT max(at) AS at FROM times`,
        )
        .get({ after, most: REMOVED_AT_ONCE }) as { at: number | null };
    const { at } = this.store.view(last);
    this.store.atomically((database) => {
      const remove = database.query(`DELETE FROM ${table} WHERE at > $after AND at <= $at AND subject = $id`);
      if (at !== null) for (const id of ids) remove.run({ after, at, id });
      else if (resolution === RESOLUTIONS.at(-1))
        for (const id of ids) database.query("DELETE FROM history_subjects WHERE id = $id").run({ id });
    });
    return at;
  }

  clear(): void {
    const isEmpty = this.store.view(
      (database) => database.query("SELECT 1 FROM history_subjects LIMIT 1").get() === null,
    );
    if (isEmpty) return;
    this.store.atomically((database) => {
      for (const table of [...Object.values(TABLES), "history_subjects"])
        database.run(`DELETE FROM ${table}`);
    });
    this.times = null;
  }
}

const EVER = { from: Number.MIN_SAFE_INTEGER, to: Number.MAX_SAFE_INTEGER };

const IS_SOUND = `rx BETWEEN 0 AND ${MAX_BYTES} AND tx BETWEEN 0 AND ${MAX_BYTES}`;

export interface Range {
  resolution: Resolution;
  /** In minutes or hours since 1970. The end is excluded. */
  from: number;
  to: number;
}

function idIn(database: Database, { kind, name }: Subject): number | null {
  const found = database
    .query("SELECT id FROM history_subjects WHERE kind = $kind AND name = $name")
    .get({ kind, name }) as { id: number } | null;
  return found?.id ?? null;
}

/** Null for a new one if there are too many. */
function idOf(database: Database, subject: Subject): number | null {
  const { kind, name } = subject;
  database
    .query(
      `INSERT OR IGNORE INTO history_subjects (kind, name)
      SELECT $kind, $name WHERE (SELECT count(*) FROM history_subjects) < $most`,
    )
    .run({ kind, name, most: MAX_SUBJECTS + (kind === "tunnel" ? FOR_TUNNELS : 0) });
  return idIn(database, subject);
}

/** Each is found by the key, without reading its rows. */
export function timesIn(database: Database, table: string): Set<number> {
  const found = database
    .query(
      `WITH RECURSIVE times(at) AS (
        SELECT min(at) FROM ${table}
        UNION ALL
        SELECT (SELECT min(at) FROM ${table} WHERE at > times.at) FROM times WHERE at IS NOT NULL
      ) SELECT at FROM times WHERE at IS NOT NULL`,
    )
    .values();
  return new Set(found.flat().map(Number));
}

/**
 * The times that must be removed when there is a new one: those nearest to now stay. After a clock was wrong, its rows
 * go first. While it is wrong, only as many of the others go as there are new ones.
 */
export function surplusOf(times: ReadonlySet<number>, most: number, now: number): number[] {
  const surplus = times.size + Number(!times.has(now)) - most;
  const far: number[] = [];
  // The farthest is found without sorting them all: that would take some milliseconds of a Pi for each minute.
  while (far.length < Math.min(surplus, PRUNED_AT_ONCE)) {
    let farthest: number | null = null;
    for (const at of times)
      if (!far.includes(at) && (farthest === null || isFarther(at, farthest, now))) farthest = at;
    if (farthest === null) break;
    far.unshift(farthest);
  }
  return far;
}

/** Ties go to the earlier time. */
function isFarther(one: number, other: number, now: number): boolean {
  const [first, second] = [Math.abs(one - now), Math.abs(other - now)];
  return first > second || (first === second && one < other);
}
