import type { Database } from "bun:sqlite";
import type { Store } from "../store/store.ts";
import { MAX_KEPT, MINUTES_PER_HOUR, type Range, surplusOf, timesIn } from "./ring.ts";
import type { Resolution } from "./schema.ts";

/** What the questions of a minute have measured on a path. */
export interface QualitySample {
  asked: number;
  lost: number;
  /** All times until an answer together. */
  took: number;
  /** All differences from the answer before together. */
  steps: number;
}

export interface QualityMinute {
  /** Counted from 1970. */
  minute: number;
  /** A tunnel's name, or `UPLINK`. */
  name: string;
  told: QualitySample;
}

/** Times are kept in tenths of a millisecond. */
export const TENTHS = 10;

/** No tunnel has this name. */
export const UPLINK = "";

const TABLES = { minute: "history_quality_minutes", hour: "history_quality_hours" } as const;
const RESOLUTIONS = ["minute", "hour"] as const;

/** The quality of tunnels and of the uplink, by minute and by hour: as long as the traffic is kept. */
export class QualityRing {
  /** The times that have rows; null if they must be read. */
  private times: Readonly<Record<Resolution, Set<number>>> | null = null;

  constructor(private readonly store: Pick<Store, "atomically" | "view">) {}

  /** Adds all these, or none if the disk accepts no writes. */
  addAll(minutes: readonly QualityMinute[]): void {
    try {
      this.store.atomically((database) => {
        for (const each of minutes) this.add(database, each);
      });
    } catch (error) {
      // Some of them may have been added and removed again.
      this.times = null;
      throw error;
    }
  }

  private add(database: Database, { minute, name, told }: QualityMinute): void {
    this.times ??= { minute: timesIn(database, TABLES.minute), hour: timesIn(database, TABLES.hour) };
    const now = { minute, hour: Math.floor(minute / MINUTES_PER_HOUR) };
    for (const resolution of RESOLUTIONS) {
      const [table, times, at] = [TABLES[resolution], this.times[resolution], now[resolution]];
      database
        .query(
          `INSERT INTO ${table} VALUES ($at, $name, $asked, $lost, $took, $steps) ON CONFLICT DO UPDATE SET
          asked = asked + excluded.asked, lost = lost + excluded.lost, took = took + excluded.took,
          steps = steps + excluded.steps`,
        )
        .run({ at, name, ...told });
      if (times.has(at)) continue;
      for (const old of surplusOf(times, MAX_KEPT[resolution], at)) {
        database.query(`DELETE FROM ${table} WHERE at = $old`).run({ old });
        times.delete(old);
      }
      times.add(at);
    }
  }

  /** What is known of a way, by minutes or hours. */
  series(name: string, { resolution, from, to }: Range): (QualitySample & { at: number })[] {
    return this.store.view(
      (database) =>
        database
          .query(
            `SELECT at, asked, lost, took, steps FROM ${TABLES[resolution]}
            WHERE at >= $from AND at < $to AND name = $name AND asked > 0 AND lost BETWEEN 0 AND asked
            AND took >= 0 AND steps >= 0 ORDER BY at`,
          )
          .all({ from, to, name }) as (QualitySample & { at: number })[],
    );
  }

  clear(): void {
    const isEmpty = this.store.view(
      (database) => database.query(`SELECT 1 FROM ${TABLES.hour} LIMIT 1`).get() === null,
    );
    if (isEmpty) return;
    this.store.atomically((database) => {
      for (const table of Object.values(TABLES)) database.run(`DELETE FROM ${table}`);
    });
    this.times = null;
  }
}
