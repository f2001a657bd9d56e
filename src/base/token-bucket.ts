/** Allows `burst` at once, then one per `everyMs`. */
export class TokenBucket {
  private left: number;
  private filledAt = 0;

  constructor(
    private readonly burst: number,
    private readonly everyMs: number,
  ) {
    this.left = burst;
  }

  /** Whether one more is allowed at that time of the monotonic clock. */
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
