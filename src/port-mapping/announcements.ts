/** Section 3.2.1 of RFC 6886: ten announcements, the second after 250 ms, each further one after twice the time. */
const COUNT = 10;
const FIRST_PAUSE_MS = 250;

/** When the devices are told that their ports may have changed. */
export class Announcements {
  private next: { at: number; pauseMs: number; left: number } | null = null;

  /** The first one is due now. */
  begin(now: number): void {
    this.next = { at: now, pauseMs: FIRST_PAUSE_MS, left: COUNT };
  }

  /** Whether one is to be sent now. The next one is due later. */
  isDue(now: number): boolean {
    const { next } = this;
    if (next === null || now < next.at) return false;
    const { at, pauseMs, left } = next;
    this.next = left === 1 ? null : { at: at + pauseMs, pauseMs: 2 * pauseMs, left: left - 1 };
    return true;
  }
}
