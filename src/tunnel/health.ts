/** Counters of a WireGuard interface at one moment. */
export interface Sample {
  /** Milliseconds on the monotone clock. */
  at: number;
  /** Counters of a kernel interface; null if a userspace program provides the interface. */
  packets: { received: number; sent: number } | null;
  /** When the fields below were read: while packets come in, WireGuard itself is not asked. */
  countedAt: number;
  rxBytes: number;
  txBytes: number;
  /** Milliseconds since 1970; only changes matter, so the clock may jump. */
  latestHandshake: number;
}

/** Whether a session's server is alive, as far as known; times on the monotonic clock. */
export interface Evidence {
  heardAt: number;
  /** Since when data has gone out and nothing has come back; null if everything was answered. */
  askedAt: number | null;
}

/** A keepalive is an empty packet: 16 bytes of header and 16 of authentication. It is never answered. */
const KEEPALIVE_BYTES = 32;
/** The persistent keepalive and the one that answers received data may go out together. */
const KEEPALIVES_AT_ONCE = 2;
/**
 * WireGuard answers data within 10 s, if only by a keepalive (KEEPALIVE_TIMEOUT, white paper 6.5); one second more
 * for the round trip.
 */
const UNANSWERED_MS = 11_000;
/** WireGuard drops a session this long after its handshake (REJECT_AFTER_TIME, white paper 6.1). */
export const SESSION_ENDS_MS = 180_000;

/** The evidence after another sample; `keepaliveMs` is the time from one keepalive to the next. */
export function weigh(evidence: Evidence, before: Sample, after: Sample, keepaliveMs: number): Evidence {
  if (heardIn(before, after)) return { heardAt: after.at, askedAt: null };
  const asked = askedIn(before, after, keepaliveMs);
  return { ...evidence, askedAt: evidence.askedAt ?? (asked ? after.at : null) };
}

/** Whether anything came from the server between two samples. */
export function heardIn(before: Sample, after: Sample): boolean {
  if (after.packets !== null && before.packets !== null) {
    return after.packets.received !== before.packets.received;
  }
  return after.rxBytes > before.rxBytes || after.latestHandshake !== before.latestHandshake;
}

/** Whether more than keepalives went out between two samples. */
export function askedIn(before: Sample, after: Sample, keepaliveMs: number): boolean {
  const both = heardIn(before, after) && after.packets?.sent !== before.packets?.sent;
  const counted = before.countedAt === before.at;
  const keepalives = KEEPALIVES_AT_ONCE + Math.floor((after.at - before.at) / keepaliveMs);
  return both || (counted && after.txBytes - before.txBytes > keepalives * KEEPALIVE_BYTES);
}

export function isDead({ heardAt, askedAt }: Evidence, at: number): boolean {
  return at - heardAt >= SESSION_ENDS_MS || (askedAt !== null && at - askedAt >= UNANSWERED_MS);
}
