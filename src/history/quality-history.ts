import type { Store } from "../store/store.ts";
import { type QualityMinute, QualityRing, type QualitySample, TENTHS } from "./quality-ring.ts";

/** More than there are tunnels, and the uplink. */
const MAX_NAMES = 20;
/** Written together, because each write wears a memory card. A power cut loses as many. */
const MINUTES_AT_ONCE = 15;
/** The most that waits while the disk accepts no writes. */
const MAX_WAITING = 1_000;

/** The results of the questions on each way, gathered in memory and written a few times an hour. */
export class QualityHistory {
  readonly ring: QualityRing;
  /** Of the present minute. */
  private readonly gathered = new Map<string, QualitySample>();
  /** The last answer on each way. */
  private readonly last = new Map<string, number>();
  private waiting: readonly QualityMinute[] = [];
  /** For how long something has waited since the last attempt to write it. */
  private minutesWaited = 0;

  constructor(store: Pick<Store, "atomically" | "view">) {
    this.ring = new QualityRing(store);
  }

  /** Adds how long a question took until its answer, in milliseconds; null if it got none. */
  note(name: string, ms: number | null): void {
    const told = this.gathered.get(name);
    if (told === undefined && this.gathered.size >= MAX_NAMES) return;
    const { asked, lost, took, steps } = told ?? NOTHING;
    const answer = ms === null ? null : Math.round(ms * TENTHS);
    const step = answer === null ? 0 : Math.abs(answer - (this.last.get(name) ?? answer));
    this.gathered.set(name, {
      asked: asked + 1,
      lost: lost + Number(answer === null),
      took: took + (answer ?? 0),
      steps: steps + step,
    });
    if (answer !== null) this.last.set(name, answer);
  }

  /** The minute is over. One in which nothing was carried is not kept. */
  endMinute(minute: number, isKept: boolean): void {
    const told = [...this.gathered].map(([name, each]) => ({ minute, name, told: each }));
    this.gathered.clear();
    if (isKept) this.waiting = [...this.waiting, ...told].slice(-MAX_WAITING);
    if (this.hasWaiting) this.minutesWaited += 1;
    // Tunnels come and go under any name.
    if (this.last.size > MAX_NAMES) this.last.clear();
  }

  get hasWaiting(): boolean {
    return this.waiting.length > 0;
  }

  get isDue(): boolean {
    return this.minutesWaited >= MINUTES_AT_ONCE;
  }

  /** Throws if the disk accepts no writes; what waits stays then. */
  write(): void {
    this.minutesWaited = 0;
    this.ring.addAll(this.waiting);
    this.waiting = [];
  }
}

const NOTHING: QualitySample = { asked: 0, lost: 0, took: 0, steps: 0 };
