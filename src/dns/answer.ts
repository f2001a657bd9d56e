import { type Address, addressFrom, isHostAddress, isPrivate, unmapped } from "../base/address.ts";
import {
  FLAG,
  HEADER_BYTES,
  MAX_LABEL_BYTES,
  Malformed,
  nameIn,
  type Record,
  TYPE,
  viewOf,
} from "../base/dns-message.ts";
import { OPT_BYTES, type Question, writeOpt } from "./question.ts";
import { reachableIn } from "./reachable.ts";

/** Devices and the kernel keep an address for at least this long. */
export const SHORTEST_TTL_SECONDS = 60;
const MAX_TTL_SECONDS = 86_400;
/** That there is no such name may change at any moment (RFC 2308, section 5 permits hours). */
const MAX_NEGATIVE_SECONDS = 300;
/** The longest answer that is kept and passed on. */
export const MAX_ANSWER_BYTES = 16_384;
/** Reading one takes some ten microseconds, and the owner of a name can have thousands sent. */
const MAX_ADDRESSES = 128;
/** Hosts that the records of a name can name. Each is looked up in all lists. */
const MAX_HOSTS = 16;
/** In 2000::/3 (RFC 4291, section 2.4), so that it is not compared with any other block. */
const GLOBAL = /^[23][0-9a-f]{3}:/;

export const RCODE = {
  ...{ ok: 0, malformed: 1, failed: 2, noName: 3, notImplemented: 4, refused: 5 },
  /** Of EDNS (RFC 6891, section 9). */
  badVersion: 16,
} as const;

const RCODE_BITS = 0x000f;
const BINDINGS: ReadonlySet<number> = new Set([TYPE.svcb, TYPE.https]);
/** Keys of SVCB and HTTPS records (RFC 9460, section 14.3.2). */
const HINTS: { [key: number]: number } = { 4: 4, 6: 16 };

/** An answer of a resolver, without its additional records. */
export interface Answer {
  message: Uint8Array;
  rcode: number;
  /** Where the TTLs of its records are. */
  ttlsAt: readonly number[];
  /** How long it is kept; 0 for one that is not. */
  ttlSeconds: number;
  /** How long devices may use its addresses; other records may end before. */
  addressSeconds: number;
  /** The name that was asked, and those that it leads to. */
  names: readonly string[];
  /** The hosts that SVCB and HTTPS records name: devices ask for them next. */
  targets: readonly string[];
  /** All addresses of these names, also those that are only hints. */
  addresses: readonly Address[];
  /** Of these, the ones that are not of the internet. */
  locals: readonly Address[];
}

/**
 * What a resolver's message answers to our query. Throws `Malformed` unless id, question and the case of its letters
 * are ours. Null if it was too long for UDP.
 */
export function answerIn(message: Uint8Array, query: Uint8Array): Answer | null {
  const questionEnd = questionEndOf(query);
  if (message.length < questionEnd || message.length > MAX_ANSWER_BYTES) throw new Malformed();
  const [view, asked] = [viewOf(message), viewOf(query)];
  const flags = view.getUint16(2);
  const isOurs =
    view.getUint16(0) === asked.getUint16(0) &&
    (flags & (FLAG.response | FLAG.opcode)) === FLAG.response &&
    view.getUint16(4) === 1 &&
    Buffer.compare(message.subarray(HEADER_BYTES, questionEnd), query.subarray(HEADER_BYTES, questionEnd)) ===
      0;
  if (!isOurs) throw new Malformed();
  if ((flags & FLAG.truncated) !== 0) return null;
  const { message: kept, records, names } = reachableIn(message, questionEnd);
  if (kept.length > MAX_ANSWER_BYTES) throw new Malformed();
  const ttlsAt = records.map(({ ttlAt }) => ttlAt);
  for (const at of ttlsAt) raise(viewOf(kept), at);
  const rcode = flags & RCODE_BITS;
  let left = MAX_ADDRESSES;
  const found = records.map((record) => {
    const addresses = addressesIn(kept, record, left);
    left -= addresses.length;
    return { record, addresses };
  });
  const addresses = found.flatMap((each) => each.addresses).map(unmapped);
  const targets = [...new Set(records.flatMap((record) => targetIn(kept, record)))];
  if (targets.length > MAX_HOSTS) throw new Malformed();
  const having = found.filter((each) => each.addresses.length > 0).map(({ record }) => record);
  return {
    message: kept,
    rcode,
    ttlsAt,
    ttlSeconds: ttlOf(rcode, records, viewOf(kept)),
    addressSeconds: Math.max(0, ...having.map(({ ttlAt }) => viewOf(kept).getUint32(ttlAt))),
    names,
    targets,
    addresses,
    // Found once: each look takes some microseconds.
    locals: addresses.filter((address) => !GLOBAL.test(address) && isNotOfInternet(address)),
  };
}

function isNotOfInternet(address: Address): boolean {
  return !isHostAddress(address) || isPrivate(address);
}

/** Where the question of one of our queries ends. */
export function questionEndOf(query: Uint8Array): number {
  return nameIn(query, HEADER_BYTES).end + 4;
}

/** The answer for one client, some seconds after it came in. Without a `DataView`, which takes longer to make than all this. */
export function answerTo(question: Question, answer: Answer, ageSeconds: number): Uint8Array {
  const { message, ttlsAt } = answer;
  const copy = new Uint8Array(message.length + (question.hasEdns ? OPT_BYTES : 0));
  copy.set(message);
  copy.set(question.bytes, HEADER_BYTES);
  copy[0] = question.id >> 8;
  copy[1] = question.id;
  copy[2] = (copy[2] ?? 0) | (FLAG.recursion >> 8);
  copy[3] = (copy[3] ?? 0) | FLAG.recursionAvailable;
  for (const at of ttlsAt) shorten(copy, at, ageSeconds);
  if (question.hasEdns) {
    copy[10] = 0;
    copy[11] = 1;
    writeOpt(copy, message.length, question.wantsDnssec);
  }
  return copy;
}

/** Takes these seconds off the TTL at this place, down to 1. */
export function shorten(message: Uint8Array, at: number, seconds: number): void {
  let left = 0;
  for (let index = at; index < at + 4; index++) left = 256 * left + (message[index] ?? 0);
  left = Math.max(1, left - seconds);
  for (let index = at + 3; index >= at; index--, left = Math.floor(left / 256)) message[index] = left;
}

/** A record of the gateway's own answers, for the name that was asked. */
export interface OwnRecord {
  type: number;
  ttl: number;
  data: Uint8Array;
}

/** An answer of the gateway itself. */
export function ownAnswer(
  question: Question,
  rcode: number,
  records: readonly OwnRecord[] = [],
  authority: readonly OwnRecord[] = [],
): Uint8Array {
  const all = [...records, ...authority];
  const end = HEADER_BYTES + question.bytes.length;
  const bytes = all.reduce((sum, { data }) => sum + POINTED_BYTES + data.length, end);
  const message = new Uint8Array(bytes + (question.hasEdns ? OPT_BYTES : 0));
  const view = viewOf(message);
  view.setUint16(0, question.id);
  view.setUint16(
    2,
    FLAG.response | FLAG.recursionAvailable | (question.flags & FLAG.recursion) | (rcode & RCODE_BITS),
  );
  view.setUint16(4, 1);
  view.setUint16(6, records.length);
  view.setUint16(8, authority.length);
  view.setUint16(10, question.hasEdns ? 1 : 0);
  message.set(question.bytes, HEADER_BYTES);
  let at = end;
  for (const { type, ttl, data } of all) {
    view.setUint16(at, TO_QUESTION);
    view.setUint16(at + 2, type);
    view.setUint16(at + 4, 1);
    view.setUint32(at + 6, ttl);
    view.setUint16(at + 10, data.length);
    message.set(data, at + POINTED_BYTES);
    at += POINTED_BYTES + data.length;
  }
  if (question.hasEdns) writeOpt(message, at, question.wantsDnssec, rcode);
  return message;
}

/** A pointer to the name of the question, and the bytes of a record that have a fixed place. */
const [TO_QUESTION, POINTED_BYTES] = [0xc00c, 12];

/** The records that fit into UDP. Clients ask again over TCP for the rest, or make do with these. */
export function fitted(message: Uint8Array, question: Question | null): Uint8Array {
  if (question === null || message.length <= question.udpBytes) return message;
  const questionEnd = HEADER_BYTES + question.bytes.length;
  const room = question.udpBytes - (question.hasEdns ? OPT_BYTES : 0);
  const { kept, end } = beginningOf(message, questionEnd, room);
  const short = new Uint8Array(end + (question.hasEdns ? OPT_BYTES : 0));
  short.set(message.subarray(0, end));
  const view = viewOf(short);
  view.setUint16(2, view.getUint16(2) | FLAG.truncated);
  for (const [index, count] of [kept, 0, question.hasEdns ? 1 : 0].entries())
    view.setUint16(6 + 2 * index, count);
  if (question.hasEdns) writeOpt(short, end, question.wantsDnssec);
  return short;
}

/** Of a record, between its name and its data. */
const FIXED_BYTES = 10;

/**
 * How many answers end within these bytes, and where the last of them does. Names are not read: with all their labels that
 * took 0.3 ms, and a device may ask a thousand times a second.
 */
function beginningOf(message: Uint8Array, questionEnd: number, room: number): { kept: number; end: number } {
  const view = viewOf(message);
  const answers = view.getUint16(6);
  let [kept, end] = [0, questionEnd];
  for (; kept < answers; kept++) {
    const fixed = nameEndIn(message, end);
    const next = fixed + FIXED_BYTES + view.getUint16(fixed + 8);
    if (next > room) break;
    end = next;
  }
  return { kept, end };
}

/** Where a name of a message that was read before ends. */
function nameEndIn(message: Uint8Array, start: number): number {
  let at = start;
  for (let length = message[at] ?? 0; length !== 0; length = message[at] ?? 0) {
    if (length > MAX_LABEL_BYTES) return at + 2;
    at += 1 + length;
  }
  return at + 1;
}

/** Throws `Malformed` if there are more than `most`. */
function addressesIn(message: Uint8Array, { type, dataAt, dataEnd }: Record, most: number): Address[] {
  const data = message.subarray(dataAt, dataEnd);
  if (type === TYPE.a || type === TYPE.aaaa) return addressesFrom(data, type === TYPE.a ? 4 : 16, most);
  return BINDINGS.has(type) ? hintsIn(message, { dataAt, dataEnd }, most) : [];
}

/** A single dot stands for the owner of the record (RFC 9460, section 2.5). */
function targetIn(message: Uint8Array, { type, name, dataAt }: Record): string[] {
  return BINDINGS.has(type) ? [nameIn(message, dataAt + 2).name || name] : [];
}

function hintsIn(
  message: Uint8Array,
  { dataAt, dataEnd }: Pick<Record, "dataAt" | "dataEnd">,
  most: number,
): Address[] {
  const view = viewOf(message);
  const addresses: Address[] = [];
  if (dataAt + 3 > dataEnd) throw new Malformed();
  let at = nameIn(message, dataAt + 2).end;
  while (at + 4 <= dataEnd) {
    const size = HINTS[view.getUint16(at)];
    const next = at + 4 + view.getUint16(at + 2);
    if (next > dataEnd) throw new Malformed();
    if (size !== undefined)
      addresses.push(...addressesFrom(message.subarray(at + 4, next), size, most - addresses.length));
    at = next;
  }
  if (at !== dataEnd) throw new Malformed();
  return addresses;
}

/** Throws `Malformed` if the bytes are not addresses of this size, or more than `most`. */
function addressesFrom(bytes: Uint8Array, size: number, most: number): Address[] {
  if (bytes.length === 0 || bytes.length % size !== 0 || bytes.length > size * most) throw new Malformed();
  return Array.from({ length: bytes.length / size }, (_, index) =>
    addressFrom(bytes.subarray(index * size, (index + 1) * size)),
  );
}

function raise(view: DataView, at: number): void {
  const ttl = view.getUint32(at);
  // Above this, a TTL counts as 0 (RFC 2181, section 8).
  const meant = ttl > 0x7fff_ffff ? 0 : ttl;
  view.setUint32(at, Math.min(Math.max(meant, SHORTEST_TTL_SECONDS), MAX_TTL_SECONDS));
}

function ttlOf(rcode: number, records: readonly Record[], raised: DataView): number {
  if (rcode !== RCODE.ok && rcode !== RCODE.noName) return 0;
  const shortest = Math.min(MAX_TTL_SECONDS, ...records.map(({ ttlAt }) => raised.getUint32(ttlAt)));
  const isNegative = rcode === RCODE.noName || !records.some(({ section }) => section === "answer");
  return isNegative ? Math.min(shortest, MAX_NEGATIVE_SECONDS) : shortest;
}
