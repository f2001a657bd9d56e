import { FLAG, HEADER_BYTES, IN, viewOf } from "../base/dns-message.ts";
import { RCODE } from "./answer.ts";
import type { Question } from "./question.ts";

/** The code for a question that is never forwarded; null for the usual ones. EDNS has one version. */
export function refusalOf({ class: group, ednsVersion }: Question): number | null {
  if (ednsVersion !== 0) return RCODE.badVersion;
  // Of other classes, such as the one of a server's version, the gateway tells nothing.
  return group === IN ? null : RCODE.refused;
}

/** The answer to a message that is no question, such as an update (RFC 8906, section 3); null if none is due. */
export function refusalTo(message: Uint8Array): Uint8Array | null {
  if (message.length < HEADER_BYTES) return null;
  const header = new Uint8Array(HEADER_BYTES);
  header.set(message.subarray(0, 4));
  const view = viewOf(header);
  const flags = view.getUint16(2);
  // An answer to an answer would never end.
  if ((flags & FLAG.response) !== 0) return null;
  const rcode = (flags & FLAG.opcode) === 0 ? RCODE.malformed : RCODE.notImplemented;
  view.setUint16(2, FLAG.response | (flags & (FLAG.opcode | FLAG.recursion)) | rcode);
  return header;
}
