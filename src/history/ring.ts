import type { Database } from "bun:sqlite";
import { nextTurn } from "../queue.ts";
import type { Store } from "../store/store.ts";
import type { Resolution } from "./schema.ts";

/** Who has carried something. */
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

export const LENGTHS_MS: Readonly<Record<Resolution, number>> = { minute: 60_000, hour: 3_600_000 };
/** Those that have rows: a day and 61 days of a home that is never quiet. */
const MOST_KEPT: Readonly<Record<Resolution, number>> = { minute: 1_440, hour: 1_464 };
/** Whoever pretends to be ever new devices must not fill the disk: this many take 20 MB. */
const MOST_SUBJECTS = 300;
/** Nor may they take the place of tunnels, which have these on top. */
const FOR_TUNNELS = 100;

const TABLES = { minute: "history_minutes", hour: "history_hours" } as const;
const RESOLUTIONS = ["minute", "hour"] as const;
/** The kind of what is to be forgotten: its rows are removed in pieces. */
const REMOVED = "removed";
/** As many minutes or hours as are read in one turn of the event loop: some 10 ms on a Pi with all subjects. */
const READ_AT_ONCE = 12;
/** In one turn of the event loop; the rows of one time lie together, those of one subject on as many pages. */
const REMOVED_AT_ONCE = 100;
/** 8 TiB in an hour. What is more, or negative, is damaged. */
const MAX_BYTES = 2 ** 43;
const MINUTES_PER_HOUR = 60;
const HOURS_PER_DAY = 24;

/**
 * What was carried in each minute and each hour. Both tables are written in one transaction, so an hour is always the
 * sum of its minutes. Their size is bounded by the number of rows and not by age, because a clock can be wrong.
 */
export class Ring {
  /** The hour in which old minutes were last removed, and the day in which old hours were. */
  private pruned: { hour: number | null; day: number | null } = { hour: null, day: null };
  private isRemoving = false;

  constructor(private readonly store: Pick<Store, "atomically" | "view">) {}

  /** Adds to what is known of a minute, counted from 1970. */
  add(minute: number, amounts: readonly (Subject & Carried)[]): void {
    const hour = Math.floor(minute / MINUTES_PER_HOUR);
    const day = Math.floor(hour / HOURS_PER_DAY);
    this.store.atomically((database) => {
      for (const { kind, name, rx, tx } of amounts) {
        const subject = idOf(database, { kind, name });
        if (subject === null) continue;
        for (const [table, at] of [[TABLES.minute, minute] as const, [TABLES.hour, hour] as const])
          database
            .query(
              `INSERT INTO ${table} VALUES ($at, $subject, $rx, $tx)
              ON CONFLICT DO UPDATE SET rx = rx + excluded.rx, tx = tx + excluded.tx`,
            )
            .run({ at, subject, rx, tx });
      }
      // Each reads its whole table.
      if (this.pruned.hour !== hour) prune(database, "minute", minute);
      if (this.pruned.day !== day) {
        prune(database, "hour", hour);
        forgetUnused(database);
      }
    });
    // What a process that was killed has left.
    if (this.pruned.day !== day) void this.removeForgotten();
    this.pruned = { hour, day };
  }

  /** A range in pieces, each to be read in a turn of its own; what has no rows is left out. */
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

  /** What one of them, or all tunnels, have carried from one number of minutes or hours to before another. */
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

  /** What each has carried in a range, the most first. */
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

  /** Whether anything was known of it. */
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

  /** Removes the rows of what was forgotten. If the disk takes no writes, they stay until the next day's first write. */
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
  }
}

const IS_SOUND = `rx BETWEEN 0 AND ${MAX_BYTES} AND tx BETWEEN 0 AND ${MAX_BYTES}`;

export interface Range {
  resolution: Resolution;
  /** In minutes or hours since 1970; the end is exclusive. */
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
    .run({ kind, name, most: MOST_SUBJECTS + (kind === "tunnel" ? FOR_TUNNELS : 0) });
  return idIn(database, subject);
}

/**
 * Keeps the times that are nearest to now. After a clock that was wrong, its rows go first; while it is wrong, only as
 * many of the others go as there are new ones.
 */
function prune(database: Database, resolution: Resolution, now: number): void {
  const table = TABLES[resolution];
  database
    .query(
      `DELETE FROM ${table} WHERE at IN
      (SELECT DISTINCT at FROM ${table} ORDER BY abs(at - $now), at DESC LIMIT -1 OFFSET $most)`,
    )
    .run({ now, most: MOST_KEPT[resolution] });
}

function forgetUnused(database: Database): void {
  database.run(
    "DELETE FROM history_subjects WHERE id NOT IN (SELECT subject FROM history_minutes UNION SELECT subject FROM history_hours)",
  );
}
