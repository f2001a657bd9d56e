import { type Static, Type } from "typebox";
import { objectOf } from "../base/object.ts";
import { savedJson, savedNumber } from "../base/saved.ts";
import type { Store } from "../store/store.ts";
import { CLOCK, CLOCK_EVERY_MS } from "../tunnel/saved-state.ts";

/** A time in which the service did not run, in milliseconds since 1970. */
export interface Absence {
  from: number;
  until: number;
}

const Saved = objectOf({
  /** When the service began to keep a history. */
  since: Type.Integer(),
  absences: Type.Array(Type.Tuple([Type.Integer(), Type.Integer()])),
});
type Saved = Static<typeof Saved>;

/** A damaged list is begun again. */
const ABSENCES = savedJson("history_absences", Saved, null);
const SEEN = savedNumber("history_seen");
/** A restart takes less time than this beyond the age of the saved clock, and so does a pause of a busy machine. */
const SHORTEST_MS = CLOCK_EVERY_MS + 90_000;
/** Enough for the two months of the history: one a day, and some more. */
const MAX_KEPT = 100;

/** Records when the service did not run. Its last sign of life is the last time that it has saved. */
export class Absences {
  private saved: Saved | null = null;
  private seen: number | null = null;

  constructor(private readonly store: Pick<Store, "read" | "write" | "forget">) {}

  /** To be called at the start; `first` and `last` are the times of the first and last figures that are kept. */
  begin(now: number, first: number | null, last: number | null): void {
    this.saved = ABSENCES.read(this.store);
    if (this.saved === null) this.save({ since: Math.min(first ?? now, now), absences: [] });
    const signs = [SEEN, CLOCK].map((time) => time.read(this.store) ?? Number.NaN);
    const earlier = [...signs, last ?? Number.NaN].filter((each) => each <= now);
    this.seen = earlier.length === 0 ? null : Math.max(...earlier);
    this.note(now);
  }

  /**
   * To be called once a minute. A longer pause is one in which the machine slept, or its clock was set after a power
   * cut.
   */
  note(now: number): void {
    const { seen, saved } = this;
    this.seen = now;
    if (seen === null || saved === null || now - seen < SHORTEST_MS) return;
    const absences = [...saved.absences, [Math.round(seen), Math.round(now)] as [number, number]];
    this.save({ ...saved, absences: absences.slice(-MAX_KEPT) });
  }

  end(now: number): void {
    if (this.saved !== null) SEEN.write(this.store, Math.round(now));
  }

  clear(): void {
    for (const { key } of [ABSENCES, SEEN]) if (this.store.read(key) !== null) this.store.forget(key);
  }

  /** The absences in a range, oldest first, including the time before the first start. */
  during({ from, until }: Absence): Absence[] {
    const { since, absences } = this.saved ?? { since: from, absences: [] };
    return [[from, since] as const, ...absences]
      .map(([began, ended]) => ({ from: Math.max(from, began), until: Math.min(until, ended) }))
      .filter((each) => each.from < each.until);
  }

  private save(saved: Saved): void {
    this.saved = saved;
    ABSENCES.write(this.store, saved);
  }
}
