/** The parts of a DNS message (RFC 1035, section 4.1) as they lie in its bytes, which may be anything. */

export const HEADER_BYTES = 12;
/** Bytes of a name on the wire (RFC 1035, section 2.3.4). */
const MAX_NAME_BYTES = 255;
export const MAX_LABEL_BYTES = 63;
/** Each is followed by a label: more of them than a name has labels only take time. */
const MAX_POINTERS = 127;
/** Bytes of a record between its name and its data: type, class, TTL, length. */
const FIXED_BYTES = 10;
/** Bytes of a question behind its name: type and class. */
const QUESTION_FIXED_BYTES = 4;
/** An answer has a few records, and one of a large site some dozens. */
const MAX_RECORDS = 256;

export const TYPE = {
  ...{ a: 1, ns: 2, cname: 5, soa: 6, ptr: 12, aaaa: 28, dname: 39, opt: 41, rrsig: 46 },
  ...{ svcb: 64, https: 65 },
};

/** The class of the internet. */
export const IN = 1;

/** The flags of a header (RFC 1035, section 4.1.1). */
export const FLAG = {
  ...{ response: 0x8000, opcode: 0x7800, authoritative: 0x0400, truncated: 0x0200 },
  ...{ recursion: 0x0100, recursionAvailable: 0x0080 },
};

/** Thrown for a malformed message. It does not quote the content. */
export class Malformed extends Error {}

export interface Record {
  section: "answer" | "authority" | "additional";
  /** In lower case. */
  name: string;
  type: number;
  class: number;
  ttl: number;
  nameAt: number;
  ttlAt: number;
  dataAt: number;
  dataEnd: number;
}

/** A query with one question. Throws a `RangeError` for a name that DNS cannot have. */
export function queryAbout(id: number, name: string, type: number, flags: number): Uint8Array {
  const question = nameBytes(name);
  const query = new Uint8Array(HEADER_BYTES + question.length + QUESTION_FIXED_BYTES);
  const view = viewOf(query);
  view.setUint16(0, id);
  view.setUint16(2, flags);
  view.setUint16(4, 1);
  query.set(question, HEADER_BYTES);
  view.setUint16(HEADER_BYTES + question.length, type);
  view.setUint16(HEADER_BYTES + question.length + 2, IN);
  return query;
}

/** The answers in a response to the query with this id; null for anything else. */
export function answersIn(message: Uint8Array, id: number): Record[] | null {
  if (message.length < HEADER_BYTES) return null;
  const view = viewOf(message);
  const questions = view.getUint16(4);
  const isResponse = (view.getUint16(2) & FLAG.response) !== 0;
  if (view.getUint16(0) !== id || !isResponse || questions > 1) return null;
  try {
    const end = questions === 0 ? HEADER_BYTES : nameIn(message, HEADER_BYTES).end + QUESTION_FIXED_BYTES;
    return recordsIn(message, end).filter(({ section }) => section === "answer");
  } catch {
    return null;
  }
}

/** The records behind the questions. Throws `Malformed`. */
export function recordsIn(message: Uint8Array, questionsEnd: number): Record[] {
  const view = viewOf(message);
  const sections = (["answer", "authority", "additional"] as const).flatMap((section, index) =>
    Array<Record["section"]>(Math.min(view.getUint16(6 + 2 * index), MAX_RECORDS + 1)).fill(section),
  );
  if (sections.length > MAX_RECORDS) throw new Malformed();
  let at = questionsEnd;
  return sections.map((section) => {
    const nameAt = at;
    const { name, end } = nameIn(message, at);
    if (end + FIXED_BYTES > message.length) throw new Malformed();
    const dataAt = end + FIXED_BYTES;
    at = dataAt + view.getUint16(end + 8);
    if (at > message.length) throw new Malformed();
    const [type, group, ttl] = [view.getUint16(end), view.getUint16(end + 2), view.getUint32(end + 4)];
    return { section, name, type, class: group, ttl, nameAt, ttlAt: end + 4, dataAt, dataEnd: at };
  });
}

/**
 * The name at this place, and where what follows it begins. Compression leads only backwards, so it ends. Throws
 * `Malformed`.
 */
export function nameIn(message: Uint8Array, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let [at, limit, end, bytes, pointers] = [start, start, -1, 1, 0];
  for (;;) {
    const length = message[at];
    if (length === undefined) throw new Malformed();
    if (length === 0) return { name: labels.join("."), end: end < 0 ? at + 1 : end };
    if (length > MAX_LABEL_BYTES) {
      const low = message[at + 1];
      if ((length & 0xc0) !== 0xc0 || low === undefined) throw new Malformed();
      if (end < 0) end = at + 2;
      at = ((length & 0x3f) << 8) | low;
      pointers += 1;
      if (at >= limit || pointers > MAX_POINTERS) throw new Malformed();
      limit = at;
      continue;
    }
    bytes += length + 1;
    if (bytes > MAX_NAME_BYTES || at + 1 + length > message.length) throw new Malformed();
    labels.push(labelIn(message, at + 1, length));
    at += 1 + length;
  }
}

/** The bytes of the name at this place without compression, and where what follows it begins. Throws `Malformed`. */
export function plainName(message: Uint8Array, start: number): { bytes: Uint8Array; end: number } {
  const { end } = nameIn(message, start);
  const bytes: number[] = [];
  for (let at = start; ; ) {
    const length = message[at] ?? 0;
    if (length > MAX_LABEL_BYTES) at = ((length & 0x3f) << 8) | (message[at + 1] ?? 0);
    else {
      bytes.push(...message.subarray(at, at + 1 + length));
      if (length === 0) return { bytes: Uint8Array.from(bytes), end };
      at += 1 + length;
    }
  }
}

/**
 * Each byte in the text of a name: in lower case, and what could be taken for something else as RFC 1035, section 5.1 has
 * it. Looked up, because an answer may have some ten thousand of them.
 */
const TEXTS: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const isPlain = byte > 0x20 && byte < 0x7f && byte !== 0x2e && byte !== 0x5c;
  return isPlain ? String.fromCharCode(byte).toLowerCase() : `\\${String(byte).padStart(3, "0")}`;
});

function labelIn(message: Uint8Array, at: number, length: number): string {
  let label = "";
  for (let index = at; index < at + length; index++) label += TEXTS[message[index] ?? 0];
  return label;
}

/** A name as it lies in a message, with or without the root's last dot. Throws a `RangeError` for one that DNS cannot have. */
export function nameBytes(name: string): number[] {
  const plain = name.replace(/\.$/, "");
  const labels = (plain === "" ? [] : plain.split(".")).map((label) => Buffer.from(label));
  const bytes = [...labels.flatMap((label) => [label.length, ...label]), 0];
  const isPossible = labels.every(({ length }) => length > 0 && length <= MAX_LABEL_BYTES);
  if (!isPossible || bytes.length > MAX_NAME_BYTES) throw new RangeError("no name of DNS");
  return bytes;
}

export function viewOf(message: Uint8Array): DataView {
  return new DataView(message.buffer, message.byteOffset, message.byteLength);
}
