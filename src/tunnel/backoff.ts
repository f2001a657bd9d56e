/** Longest pause between two attempts. */
const LONGEST_MS = 60_000;
/** The pause after the first attempt; each is twice the one before. */
const FIRST_MS = 2_500;

/**
 * Milliseconds to wait after the attempt with that number, from 0; the longest pause where the uplink seems to be
 * down. `random` in [0, 1) spreads the homes of one provider over time, so that a server that comes back is not
 * overrun.
 */
export function pauseAfter(attempt: number, random: number, online: boolean): number {
  const pause = online ? Math.min(FIRST_MS * 2 ** attempt, LONGEST_MS) : LONGEST_MS;
  return pause * (0.5 + random / 2);
}

/** So many at once, then one each `everyMs`. */
export class TokenBucket {
  private left: number;
  private filledAt = 0;

  constructor(
    private readonly burst: number,
    private readonly everyMs: number,
  ) {
    this.left = burst;
  }

  /** Whether one more may happen at that time of the monotone clock. */
  allows(now: number): boolean {
    const refill = Math.floor((now - this.filledAt) / this.everyMs);
    if (refill > 0) {
      this.left = Math.min(this.burst, this.left + refill);
      this.filledAt = now;
    }
    if (this.left === 0) return false;
    this.left -= 1;
    return true;
  }
}
