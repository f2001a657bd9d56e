import { bytesOf, mustParseAddress } from "../base/address.ts";
import { FLAG, HEADER_BYTES, IN, nameIn, TYPE, viewOf } from "../base/dns-message.ts";
import { HOST_NAMES } from "./topology.ts";

/** RFC 1035, section 4.1.1: the name does not exist. */
const NXDOMAIN = 3;
const TXT = 16;

/**
 * The answer to a DNS message, or null if it is malformed; `whoami.test`, and what is below it, resolves to the asker's
 * address. Names below that of a host are its aliases.
 */
export function answerFor(message: Uint8Array, asker: string): Uint8Array | null {
  const question = questionIn(message);
  if (question === null) return null;
  const { name, type, end } = question;
  const isWhoami = /(^|\.)whoami\.test$/.test(name);
  const host = Object.keys(HOST_NAMES).find((each) => name === each || name.endsWith(`.${each}`)) ?? "";
  const known = isWhoami ? addressOf(asker) : HOST_NAMES[host];
  const isAlias = !isWhoami && host !== "" && name !== host;
  // The name of a host is the end of its alias.
  const owner = isAlias ? pointerTo(end - FIXED_BYTES - host.length - 2) : pointerTo(HEADER_BYTES);
  const answers: number[][] = [];
  if (isAlias) answers.push(record(pointerTo(HEADER_BYTES), TYPE.cname, owner));
  if (known?.v4 && type === TYPE.a) answers.push(record(owner, type, bytesIn(known.v4)));
  if (known?.v6 && type === TYPE.aaaa) answers.push(record(owner, type, bytesIn(known.v6)));
  if (isWhoami && type === TXT) answers.push(record(owner, type, [asker.length, ...Buffer.from(asker)]));
  const answer = Uint8Array.from([...message.subarray(0, end), ...answers.flat()]);
  const view = viewOf(answer);
  const desired = view.getUint16(2) & FLAG.recursion;
  const code = known === undefined ? NXDOMAIN : 0;
  view.setUint16(2, FLAG.response | FLAG.authoritative | FLAG.recursionAvailable | desired | code);
  for (const [index, count] of [1, answers.length, 0, 0].entries()) view.setUint16(4 + 2 * index, count);
  return answer;
}

/** Bytes of a question behind its name. */
const FIXED_BYTES = 4;

/** Null for what is no question. */
function questionIn(message: Uint8Array): { name: string; type: number; end: number } | null {
  try {
    const view = viewOf(message);
    if ((view.getUint16(2) & FLAG.response) !== 0 || view.getUint16(4) === 0) return null;
    const { name, end } = nameIn(message, HEADER_BYTES);
    return { name, type: view.getUint16(end), end: end + FIXED_BYTES };
  } catch {
    return null;
  }
}

/** A name that lies in the message already (RFC 1035, section 4.1.4). */
function pointerTo(at: number): number[] {
  return [0xc0 | (at >> 8), at & 0xff];
}

/** Its TTL is 0: answers must not be cached, because the tests ask again after each change. */
function record(name: readonly number[], type: number, data: readonly number[]): number[] {
  return [...name, 0, type, 0, IN, 0, 0, 0, 0, 0, data.length, ...data];
}

function bytesIn(address: string): number[] {
  return [...bytesOf(mustParseAddress(address))];
}

function addressOf(asker: string): { v4: string; v6: string } {
  return asker.includes(":") ? { v4: "", v6: asker } : { v4: asker, v6: "" };
}
