import { type Address, bytesOf } from "../base/address.ts";
import { FLAG, HEADER_BYTES, IN, nameBytes, nameIn, TYPE, viewOf } from "../base/dns-message.ts";

const ANY = 255;
/** A device asks for a few names in a message; what comes after these is not read. */
const MOST_QUESTIONS = 16;
/** RFC 6762, sections 5.4 and 10.2: the top bit of a class. */
const TOP_BIT = 0x8000;
/** The access point is short-lived, and after it the name has another address. */
const TTL_S = 10;

/**
 * The answer of a host with this name and address to a message of multicast DNS (RFC 6762); null if that does not ask for it.
 * `isLegacy` is for a question from another port, whose answer repeats its id and the question (section 6.7).
 */
export function answerTo(
  message: Uint8Array,
  name: string,
  address: Address,
  isLegacy: boolean,
): Uint8Array | null {
  const question = questionFor(message, name);
  if (question === null) return null;
  const header = new Uint8Array(HEADER_BYTES);
  const view = viewOf(header);
  view.setUint16(0, isLegacy ? viewOf(message).getUint16(0) : 0);
  view.setUint16(2, FLAG.response | FLAG.authoritative);
  view.setUint16(4, isLegacy ? 1 : 0);
  view.setUint16(6, 1);
  const data = bytesOf(address);
  const fixed = new Uint8Array(10);
  const about = viewOf(fixed);
  about.setUint16(0, TYPE.a);
  about.setUint16(2, isLegacy ? IN : IN | TOP_BIT);
  about.setUint32(4, TTL_S);
  about.setUint16(8, data.length);
  const own = Uint8Array.from(nameBytes(name));
  const repeated = isLegacy ? [own, question] : [];
  return Buffer.concat([header, ...repeated, own, fixed, data]);
}

/** Type and class of the question for the address of this name; null if there is none, or if the message is malformed. */
function questionFor(message: Uint8Array, name: string): Uint8Array | null {
  const view = viewOf(message);
  try {
    if (view.getUint16(2) & FLAG.response) return null;
    const count = Math.min(view.getUint16(4), MOST_QUESTIONS);
    for (let at = HEADER_BYTES, number = 0; number < count; number += 1) {
      const { name: asked, end } = nameIn(message, at);
      const isAddress = [TYPE.a, ANY].includes(view.getUint16(end));
      view.getUint16(end + 2);
      if (asked === name && isAddress) return message.slice(end, end + 4);
      at = end + 4;
    }
  } catch {
    // Malformed, or cut off.
  }
  return null;
}
