import type { Alarm } from "../base/alert.ts";

/** A router or a tunnel that restarts is soon back. */
const LOST_AFTER_MS = 60_000;

interface Seen {
  on: boolean;
  /** What devices call, or null. */
  endpoint: string | null;
  /** Why no device can come in, or null. */
  fault: string | null;
}

/** Alerts people when remote devices can no longer connect, or need another endpoint. */
export class InboundAlert {
  /** What devices could call last; null before they could. */
  private endpoint: string | null = null;
  /** Since when they cannot, on the monotonic clock. */
  private lostAt: number | null = null;
  private isTold = false;

  constructor(private readonly alarm: Alarm) {}

  see({ on, endpoint, fault }: Seen, now: number): void {
    if (!on) this.forget();
    else if (fault !== null || endpoint === null) this.lost(fault ?? "their way in is not known", now);
    else this.found(endpoint);
  }

  private found(endpoint: string): void {
    if (this.isTold) this.alarm("remote_found", {});
    if (this.endpoint !== null && this.endpoint !== endpoint)
      this.alarm("remote_moved", { endpoint, former: this.endpoint });
    Object.assign(this, { endpoint, lostAt: null, isTold: false });
  }

  private lost(why: string, now: number): void {
    if (this.endpoint === null) return;
    this.lostAt ??= now;
    if (this.isTold || now - this.lostAt < LOST_AFTER_MS) return;
    this.isTold = true;
    this.alarm("remote_lost", { reason: why });
  }

  private forget(): void {
    Object.assign(this, { endpoint: null, lostAt: null, isTold: false });
  }
}
