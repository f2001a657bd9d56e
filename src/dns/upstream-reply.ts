import { FLAG, HEADER_BYTES, recordsIn, TYPE, viewOf } from "../base/dns-message.ts";
import { type Answer, answerIn, questionEndOf, RCODE } from "./answer.ts";

const RCODE_BITS = 0x000f;
const CAPITAL = { first: 0x41, last: 0x5a, bit: 0x20 };

/** What a resolver's message answers to one of our queries. */
export interface UpstreamReply {
  /**
   * `truncated`: the rest did not fit. `refusal`: the resolver does not answer the question, whatever code it gives as
   * its reason.
   */
  says: "answer" | "truncated" | "refusal";
  /** What there is of an answer. */
  answer: Answer | null;
  /** Whether it repeats our letters in the case that we wrote them in. */
  isOurCase: boolean;
}

/** Null if it is not a message to this query. */
export function upstreamReplyIn(message: Uint8Array, query: Uint8Array): UpstreamReply | null {
  if (message.length < HEADER_BYTES) return null;
  const view = viewOf(message);
  const flags = view.getUint16(2);
  const isReply =
    view.getUint16(0) === viewOf(query).getUint16(0) &&
    (flags & (FLAG.response | FLAG.opcode)) === FLAG.response;
  if (!isReply) return null;
  const isRefusal = !isAnswer(flags & RCODE_BITS) || isBadVersion(message);
  // A server that does not read the question repeats none.
  if (view.getUint16(4) === 0) return isRefusal ? { says: "refusal", answer: null, isOurCase: true } : null;
  const isOurCase = caseOf(message, query);
  if (isOurCase === null) return null;
  const isCut = (flags & FLAG.truncated) !== 0;
  // What was cut off before its first record says nothing, and not that there is none.
  const answer = isCut && view.getUint16(6) === 0 ? null : wholeAnswer(message, query);
  if (isRefusal) return { says: "refusal", answer, isOurCase };
  if (isCut) return { says: "truncated", answer, isOurCase };
  return answer && { says: "answer", answer, isOurCase };
}

function isAnswer(rcode: number): boolean {
  return rcode === RCODE.ok || rcode === RCODE.noName;
}

/** Whether it repeats the case of our question; null if it repeats another question, or part of it. */
function caseOf(message: Uint8Array, query: Uint8Array): boolean | null {
  const end = questionEndOf(query);
  if (message.length < end) return null;
  let isOurs = true;
  for (let at = HEADER_BYTES; at < end; at++) {
    const [one = 0, other = 0] = [message[at], query[at]];
    if (one === other) continue;
    if (at >= end - 4 || lower(one) !== lower(other)) return null;
    isOurs = false;
  }
  return isOurs;
}

/** Of a label's length, no bit is changed: it is below all letters. */
function lower(byte: number): number {
  return byte >= CAPITAL.first && byte <= CAPITAL.last ? byte | CAPITAL.bit : byte;
}

/** The message as if it were whole and had our question. Additional records are ignored. */
function wholeAnswer(message: Uint8Array, query: Uint8Array): Answer | null {
  const whole = Uint8Array.from(message);
  whole.set(query.subarray(HEADER_BYTES, questionEndOf(query)), HEADER_BYTES);
  const view = viewOf(whole);
  view.setUint16(2, view.getUint16(2) & ~FLAG.truncated);
  view.setUint16(10, 0);
  try {
    return answerIn(whole, query);
  } catch {
    return null;
  }
}

/** BADVERS (RFC 6891, section 6.1.3): its low bits read as success. */
function isBadVersion(message: Uint8Array): boolean {
  const view = viewOf(message);
  if (view.getUint16(6) > 0 || view.getUint16(10) === 0) return false;
  try {
    const end = view.getUint16(4) === 0 ? HEADER_BYTES : questionEndOf(message);
    return recordsIn(message, end).some(({ type, ttl }) => type === TYPE.opt && ttl >>> 24 !== 0);
  } catch {
    return false;
  }
}
