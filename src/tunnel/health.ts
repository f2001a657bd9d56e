/** Counters of a WireGuard interface at one moment. */
export interface Sample {
  /** Milliseconds on the monotone clock. */
  at: number;
  /** Counters of a kernel interface; null if a userspace program provides the interface. */
  packets: { received: number; receivedBytes: number; sent: number } | null;
  /** What the kernel counts of a userspace interface: packets of data, without WireGuard's own; null if there is none. */
  data: string | null;
  /**
   * When the fields below were read. While packets come in, the kernel's WireGuard is not asked. A program is not asked
   * each time while no data passes: then only keepalives and handshakes are missing.
   */
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
export const KEEPALIVE_BYTES = 32;
/** The persistent keepalive and the one that answers received data may go out together. */
const KEEPALIVES_AT_ONCE = 2;
/**
 * A handshake initiation (white paper, 5.4.2), which a server that receives nothing from us repeats every 5 s
 * (REKEY_TIMEOUT). Data has multiples of 16 bytes, so it never adds up to as many bytes as a few of these. But some
 * servers (boringtun) do not pad it, so packets are counted too, if the kernel does so.
 */
export const INITIATION_BYTES = 148;
export const INITIATIONS_AT_ONCE = 3;
/**
 * WireGuard answers data within 10 s, if only by a keepalive (KEEPALIVE_TIMEOUT, white paper 6.5); one second more
 * for the round trip.
 */
const UNANSWERED_MS = 11_000;
/**
 * WireGuard makes a new handshake after 15 s without an answer, and then every 5 s (KEEPALIVE_TIMEOUT + REKEY_TIMEOUT,
 * white paper 6.2 and 6.4). A server that is known to carry nothing is dead only if it does not answer these either.
 */
const UNSHAKEN_MS = 30_000;
/** WireGuard drops a session this long after its handshake (REJECT_AFTER_TIME, white paper 6.1). */
export const SESSION_ENDS_MS = 180_000;

/** The evidence after another sample; `keepaliveMs` is the time from one keepalive to the next. */
export function weigh(evidence: Evidence, before: Sample, after: Sample, keepaliveMs: number): Evidence {
  if (heardIn(before, after)) return { heardAt: after.at, askedAt: null };
  const asked = askedIn(before, after, keepaliveMs);
  return { ...evidence, askedAt: evidence.askedAt ?? (asked ? after.at : null) };
}

/**
 * Whether anything came between two samples from a server that receives our packets. If the interface was given its
 * server again, WireGuard counts from zero, and knows no handshake.
 */
export function heardIn(before: Sample, after: Sample): boolean {
  if (after.packets !== null && before.packets !== null) {
    const [is, was] = [after.packets, before.packets];
    return isHeard(addedTo(was.receivedBytes, is.receivedBytes), addedTo(was.received, is.received));
  }
  return (
    isHeard(addedTo(before.rxBytes, after.rxBytes)) ||
    (after.latestHandshake !== 0 && after.latestHandshake !== before.latestHandshake)
  );
}

export function addedTo(before: number, after: number): number {
  return after < before ? after : after - before;
}

/**
 * Whether this number of bytes is more than attempts at a handshake, which show that the server receives nothing.
 * `packets` is the number of packets, if it is known.
 */
function isHeard(bytes: number, packets = bytes / INITIATION_BYTES): boolean {
  return bytes !== 0 && !(bytes === packets * INITIATION_BYTES && isFew(packets));
}

function isFew(attempts: number): boolean {
  return Number.isInteger(attempts) && attempts <= INITIATIONS_AT_ONCE;
}

/** Whether more than keepalives went out between two samples. */
export function askedIn(before: Sample, after: Sample, keepaliveMs: number): boolean {
  const both = heardIn(before, after) && after.packets?.sent !== before.packets?.sent;
  const counted = isCounted(before);
  const keepalives = keepalivesIn(before, after, keepaliveMs);
  return both || (counted && after.txBytes - before.txBytes > keepalives * KEEPALIVE_BYTES);
}

/** Whether the sample's bytes have all data that went out until it was taken. */
export function isCounted({ packets, at, countedAt }: Sample): boolean {
  return packets === null || countedAt === at;
}

/** How many keepalives may pass between two samples. */
export function keepalivesIn(before: Sample, after: Sample, keepaliveMs: number): number {
  const time = after.packets === null ? "countedAt" : "at";
  return KEEPALIVES_AT_ONCE + Math.floor((after[time] - before[time]) / keepaliveMs);
}

/** `carriesNothing` is whether this is already known. Then only the server's handshakes show whether it is there. */
export function isDead({ heardAt, askedAt }: Evidence, at: number, carriesNothing = false): boolean {
  const patience = carriesNothing ? UNSHAKEN_MS : UNANSWERED_MS;
  return at - heardAt >= SESSION_ENDS_MS || (askedAt !== null && at - askedAt >= patience);
}
