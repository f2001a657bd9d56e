/** The part of the time that has passed here that a server's clock must have counted (RFC 6886, section 3.6). */
const SLOWEST_CLOCK = 7 / 8;
const TOLERANCE_S = 2;

/** A server's epochs, which show how long it has had its mappings. */
export class Epoch {
  private last: { seconds: number; at: number } | null = null;

  /**
   * Records the epoch of an answer, with the milliseconds on a monotonic clock. Returns whether the server lost its
   * mappings.
   */
  take(seconds: number, now: number): boolean {
    const { last } = this;
    this.last = { seconds, at: now };
    if (last === null) return false;
    return seconds < last.seconds + (SLOWEST_CLOCK * (now - last.at)) / 1000 - TOLERANCE_S;
  }
}
