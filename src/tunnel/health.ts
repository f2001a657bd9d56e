/** What a WireGuard interface counts at one moment. */
export interface Sample {
  /** Milliseconds on the monotone clock. */
  at: number;
  /** What the kernel's own interface counts; null where a program makes the interface. */
  packets: { received: number; sent: number } | null;
  /** Of what time the rest is: while packets come in nobody asks WireGuard itself. */
  countedAt: number;
  rxBytes: number;
  txBytes: number;
  /** Milliseconds since 1970; only whether it changes counts, so that the clock may jump. */
  latestHandshake: number;
}

/** What is known of a session's server; times on the monotone clock. */
export interface Evidence {
  heardAt: number;
  /** Since when data goes out and nothing comes back; null where all is answered. */
  askedAt: number | null;
}

/** A keepalive: 16 bytes of header and 16 of authentication around nothing. Nobody answers it. */
const KEEPALIVE_BYTES = 32;
/** The one that is sent again and again, and the one that is owed for what came in, may go out together. */
const KEEPALIVES_AT_ONCE = 2;
/**
 * WireGuard answers data within 10 s, if only by a keepalive (KEEPALIVE_TIMEOUT, white paper 6.5); one second more
 * for the way there and back.
 */
const UNANSWERED_MS = 11_000;
/** WireGuard gives a session up this long after its handshake (REJECT_AFTER_TIME, white paper 6.1). */
export const SESSION_ENDS_MS = 180_000;

/** The evidence after another sample; `keepaliveMs` is the time from one keepalive to the next. */
export function weigh(evidence: Evidence, before: Sample, after: Sample, keepaliveMs: number): Evidence {
  if (heardIn(before, after)) return { heardAt: after.at, askedAt: null };
  const asked = askedIn(before, after, keepaliveMs);
  return { ...evidence, askedAt: evidence.askedAt ?? (asked ? after.at : null) };
}

/** Whether the server has said anything between two samples. */
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
