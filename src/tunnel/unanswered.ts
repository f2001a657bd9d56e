import {
  addedTo,
  INITIATION_BYTES,
  INITIATIONS_AT_ONCE,
  isCounted,
  KEEPALIVE_BYTES,
  keepalivesIn,
  type Sample,
} from "./health.ts";

/** Data that goes out while only WireGuard's own messages come back; times on the monotonic clock. */
export interface Unanswered {
  since: number;
  /** When data went out last. */
  last: number;
  /** In how many samples data went out. */
  times: number;
}

/** A response to a handshake (white paper, 5.4.3). */
const RESPONSE_BYTES = 92;
/** WireGuard answers data by a keepalive after this long (KEEPALIVE_TIMEOUT, white paper 6.5). */
const PASSIVE_KEEPALIVE_MS = 10_000;
/**
 * One unanswered packet to a host that is down proves nothing about the server. After this long without data, the
 * measurement starts again. If the gateway cannot ask, a connection to such a host must not count: TCP repeats its
 * first packet after 1, 2, 4, 8 s and so on.
 */
const PAUSE_MS = { asked: 30_000, unasked: 5_000 };
/** A notification takes 10 s more, and people should know within 30 s. */
const CERTAIN = { afterMs: 15_000, times: 4 };
/** Early enough for a question of the gateway's own to be answered, or not, before that. */
const DOUBTFUL = { afterMs: 8_000, times: 2 };

/** The same after another sample; null once data has come back. `asks` is whether the gateway can ask something itself. */
export function unansweredAfter(
  known: Unanswered | null,
  before: Sample,
  after: Sample,
  keepaliveMs: number,
  asks: boolean,
): Unanswered | null {
  if (dataCame(before, after)) return null;
  if (!dataWent(before, after, keepaliveMs)) return known;
  const { at } = after;
  if (known === null || isPast(known, at, asks)) return { since: at, last: at, times: 1 };
  return { since: known.since, last: at, times: known.times + 1 };
}

/** The same for a new session with the server, or one that works again. Answers get time to arrive. */
export function askedAnew(known: Unanswered | null): Unanswered | null {
  return known && { ...known, times: 1 };
}

/** Whether it has been without data for so long that the measurement starts again with the next. */
export function isPast({ last }: Unanswered, at: number, asks: boolean): boolean {
  return at - last > (asks ? PAUSE_MS.asked : PAUSE_MS.unasked);
}

/** Whether the tunnel carries nothing, as far as can be known. */
export function isCertain(unanswered: Unanswered | null): boolean {
  return holds(unanswered, CERTAIN);
}

/** Whether it is time for a question that every working tunnel answers. */
export function isDoubtful(unanswered: Unanswered | null): boolean {
  return holds(unanswered, DOUBTFUL);
}

function holds(unanswered: Unanswered | null, { afterMs, times }: typeof CERTAIN): boolean {
  return unanswered !== null && unanswered.times >= times && unanswered.last - unanswered.since >= afterMs;
}

/**
 * Whether more came than WireGuard's own messages. The kernel counts packets; if a program does not, its bytes must be
 * enough.
 */
function dataCame(before: Sample, after: Sample): boolean {
  const keepalives = keepalivesIn(before, after, PASSIVE_KEEPALIVE_MS);
  if (before.packets === null || after.packets === null)
    return !isOwn(addedTo(before.rxBytes, after.rxBytes), keepalives);
  const bytes = addedTo(before.packets.receivedBytes, after.packets.receivedBytes);
  const packets = addedTo(before.packets.received, after.packets.received);
  return !isOwn(bytes, packets, packets);
}

/** Whether more went out than WireGuard's own messages, if both samples have these figures. */
function dataWent(before: Sample, after: Sample, keepaliveMs: number): boolean {
  const counted = isCounted(before) && isCounted(after);
  const bytes = addedTo(before.txBytes, after.txBytes);
  return counted && !isOwn(bytes, keepalivesIn(before, after, keepaliveMs));
}

/**
 * Whether this number of bytes can be only keepalives and a few handshakes. Data has at least 60 bytes, mostly a
 * multiple of 16. A packet or two can look the same, but no traffic of seconds does.
 */
function isOwn(bytes: number, mostKeepalives: number, packets: number | null = null): boolean {
  for (let initiations = 0; initiations <= INITIATIONS_AT_ONCE; initiations++) {
    for (let responses = 0; responses <= INITIATIONS_AT_ONCE; responses++) {
      const keepalives =
        (bytes - initiations * INITIATION_BYTES - responses * RESPONSE_BYTES) / KEEPALIVE_BYTES;
      const isCount = Number.isInteger(keepalives) && keepalives >= 0 && keepalives <= mostKeepalives;
      if (isCount && (packets === null || packets === initiations + responses + keepalives)) return true;
    }
  }
  return false;
}
