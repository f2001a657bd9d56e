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
