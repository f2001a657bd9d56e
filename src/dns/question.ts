import {
  FLAG,
  HEADER_BYTES,
  IN,
  MAX_LABEL_BYTES,
  Malformed,
  nameBytes,
  nameIn,
  recordsIn,
  TYPE,
  viewOf,
} from "../base/dns-message.ts";

/** The longest query that is read. One has a name and a few options. */
export const MAX_QUERY_BYTES = 1_232;
/** Answers of this size are not fragmented on any link (RFC 9715). */
export const UDP_ANSWER_BYTES = 1_232;
/** What a client without EDNS takes over UDP (RFC 1035, section 2.3.4). */
const PLAIN_UDP_BYTES = 512;

/** OPT, and a signature. Reading the name of each of a hundred would take longer than all else. */
const MAX_ADDITIONAL = 4;

/** Flags of a header (RFC 4035, section 3.2). */
const CHECKING_DISABLED = 0x0010;
const AUTHENTIC_DATA = 0x0020;
/** In the TTL field of the OPT record (RFC 6891, section 6.1.3). */
const DNSSEC_OK = 0x8000;

export interface Question {
  id: number;
  /** In lower case, without the last dot. */
  name: string;
  type: number;
  class: number;
  /** The question as the client wrote it: name, type and class. */
  bytes: Uint8Array;
  /** What answers depend on: RD, CD, AD. */
  flags: number;
  hasEdns: boolean;
  ednsVersion: number;
  wantsDnssec: boolean;
  /** The longest answer that the client takes over UDP. */
  udpBytes: number;
}

/** What a message of a client asks; null if no answer is due. Throws `Malformed`. */
export function questionIn(message: Uint8Array): Question | null {
  if (message.length < HEADER_BYTES + 5 || message.length > MAX_QUERY_BYTES) throw new Malformed();
  const view = viewOf(message);
  const flags = view.getUint16(2);
  // An answer to an answer would never end.
  if ((flags & FLAG.response) !== 0) return null;
  const counts = [view.getUint16(4), view.getUint16(6), view.getUint16(8)];
  if ((flags & FLAG.opcode) !== 0 || counts.join() !== "1,0,0") throw new Malformed();
  if (view.getUint16(10) > MAX_ADDITIONAL) throw new Malformed();
  const { name, end } = nameIn(message, HEADER_BYTES);
  // All clients that ask for a name share its answer, whose records follow the question: each question has the same
  // length.
  if (isCompressed(message) || end + 4 > message.length) throw new Malformed();
  const options = recordsIn(message, end + 4).filter(({ type }) => type === TYPE.opt);
  const [edns] = options;
  if (options.length > 1) throw new Malformed();
  const room = edns === undefined ? PLAIN_UDP_BYTES : Math.max(edns.class, PLAIN_UDP_BYTES);
  return {
    id: view.getUint16(0),
    name,
    type: view.getUint16(end),
    class: view.getUint16(end + 2),
    bytes: new Uint8Array(message.subarray(HEADER_BYTES, end + 4)),
    flags: flags & (FLAG.recursion | CHECKING_DISABLED | AUTHENTIC_DATA),
    hasEdns: edns !== undefined,
    ednsVersion: ((edns?.ttl ?? 0) >>> 16) & 0xff,
    wantsDnssec: edns !== undefined && (edns.ttl & DNSSEC_OK) !== 0,
    udpBytes: Math.min(room, UDP_ANSWER_BYTES),
  };
}

/** Whether a pointer ends the name of the question. */
function isCompressed(message: Uint8Array): boolean {
  let at = HEADER_BYTES;
  for (let length = message[at] ?? 0; length !== 0; length = message[at] ?? 0) {
    if (length > MAX_LABEL_BYTES) return true;
    at += 1 + length;
  }
  return false;
}

/** A question of the gateway's own. */
export function questionAbout(name: string, type: number): Question {
  const bytes = Uint8Array.from([...nameBytes(name), type >> 8, type & 0xff, 0, IN]);
  const wants = { flags: FLAG.recursion, hasEdns: true, ednsVersion: 0, wantsDnssec: false, udpBytes: 0 };
  return { id: 0, name, type, class: IN, bytes, ...wants };
}

/**
 * How a query is written, the fullest first. `full`: with EDNS, and its letters in random case, which an answer must repeat (0x20). `plain`:
 * without EDNS (RFC 6891, section 6.2.2). `literal`: the case is that of the client, too.
 */
export const STYLES = ["full", "plain", "literal"] as const;
export type Style = (typeof STYLES)[number];

/** The gateway's own query for it. The client's options are left out: they say who asks. */
export function queryFor({ bytes, flags, wantsDnssec }: Question, style: Style = "full"): Uint8Array {
  const query = new Uint8Array(HEADER_BYTES + bytes.length + (style === "full" ? OPT_BYTES : 0));
  const view = viewOf(query);
  const random = crypto.getRandomValues(new Uint8Array(2 + bytes.length));
  view.setUint16(0, ((random[0] ?? 0) << 8) | (random[1] ?? 0));
  view.setUint16(2, flags | FLAG.recursion);
  view.setUint16(4, 1);
  query.set(bytes, HEADER_BYTES);
  for (let index = 0; index < bytes.length - 4; index++) {
    const byte = (bytes[index] ?? 0) | 0x20;
    // The length of a label is below all letters.
    if (style !== "literal" && byte >= 0x61 && byte <= 0x7a)
      query[HEADER_BYTES + index] = (random[2 + index] ?? 0) & 1 ? byte : byte & 0xdf;
  }
  if (style !== "full") return query;
  view.setUint16(10, 1);
  writeOpt(query, HEADER_BYTES + bytes.length, wantsDnssec);
  return query;
}

export const OPT_BYTES = 11;

/** An OPT record without options, with the upper bits of the code (RFC 6891, sections 6.1.2 and 6.1.3). */
export function writeOpt(message: Uint8Array, at: number, wantsDnssec: boolean, rcode = 0): void {
  const view = viewOf(message);
  view.setUint16(at + 1, TYPE.opt);
  view.setUint16(at + 3, UDP_ANSWER_BYTES);
  view.setUint32(at + 5, ((rcode >>> 4) << 24) | (wantsDnssec ? DNSSEC_OK : 0));
}
