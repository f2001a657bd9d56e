import { nextTurn } from "../../src/base/queue.ts";

/** Time that goes by as a test says; who sleeps wakes in order. */
export class Clock {
  private readonly sleepers = new Set<{ until: number; wake: () => void }>();
  /** How far the clock that tells the date is ahead of the monotone one. */
  private ahead = 0;

  constructor(
    private at: number,
    /** What happens in that time, just before it is over. */
    private readonly elapses: (ms: number) => void,
  ) {}

  now(): number {
    return this.at + this.ahead;
  }

  monotonic(): number {
    return this.at;
  }

  /** Someone, or the time service, sets the date. */
  setDate(aheadMs: number): void {
    this.ahead = aheadMs;
  }

  elapse(ms: number): void {
    this.elapses(ms);
    this.at += ms;
  }

  /** Lasts until `pass` has let its time go by. */
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const sleeper = this.after(ms, resolve);
    const stop = () => resolve();
    signal?.addEventListener("abort", stop, { once: true });
    await promise;
    // In a month of sleeps, the signal would look through all that have ended, each time.
    signal?.removeEventListener("abort", stop);
    this.sleepers.delete(sleeper);
  }

  after(ms: number, wake: () => void): { until: number; wake: () => void } {
    const sleeper = { until: this.at + ms, wake };
    this.sleepers.add(sleeper);
    return sleeper;
  }

  /** Lets time go by; who wakes has done its work before the next one wakes. */
  async pass(ms: number): Promise<void> {
    const until = this.at + ms;
    for (await idle(); ; await idle()) {
      const [first] = [...this.sleepers].sort((a, b) => a.until - b.until);
      if (first === undefined || first.until > until) break;
      this.elapse(Math.max(0, first.until - this.at));
      this.sleepers.delete(first);
      first.wake();
    }
    this.elapse(until - this.at);
  }

  /** Nobody sleeps any longer, and nobody wakes. */
  clear(): void {
    this.sleepers.clear();
  }
}

/** Turns of the event loop that some work takes, to let other work begin, without time going by. */
const TURNS = 3;

/** All that can be done without time going by is done. */
async function idle(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await nextTurn();
}
