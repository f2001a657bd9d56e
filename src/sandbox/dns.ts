import {
  type Answer,
  AUTHORITATIVE_ANSWER,
  decode,
  encode,
  type Packet,
  RECURSION_AVAILABLE,
} from "dns-packet";
import { HOST_NAMES } from "./topology.ts";

/** RFC 1035, section 4.1.1: the name does not exist. */
const NXDOMAIN = 3;
/** In seconds. Answers must not be cached, because the tests ask again after each change. */
const TTL = 0;

/**
 * The answer to a DNS message, or null if it is malformed; `whoami.test`, and what is below it, resolves to the asker's
 * address. Names below that of a host are its aliases.
 */
export function answerFor(message: Uint8Array, asker: string): Uint8Array | null {
  const query = decodeQuery(message);
  const question = query?.questions?.[0];
  if (query === null || question === undefined) return null;
  const name = question.name.toLowerCase();
  const isWhoami = /(^|\.)whoami\.test$/.test(name);
  const host = Object.keys(HOST_NAMES).find((each) => name === each || name.endsWith(`.${each}`)) ?? "";
  const known = isWhoami ? addressOf(asker) : HOST_NAMES[host];
  const owner = isWhoami || name === host ? question.name : host;
  const desired = (query.flags ?? 0) & 0x0100;
  const answers: Answer[] = [];
  if (known !== undefined && owner !== question.name)
    answers.push({ type: "CNAME", name: question.name, ttl: TTL, data: owner });
  if (known?.v4 && question.type === "A") {
    answers.push({ type: "A", name: owner, ttl: TTL, data: known.v4 });
  }
  if (known?.v6 && question.type === "AAAA") {
    answers.push({ type: "AAAA", name: owner, ttl: TTL, data: known.v6 });
  }
  if (isWhoami && question.type === "TXT") {
    answers.push({ type: "TXT", name: question.name, ttl: TTL, data: asker });
  }
  return encode({
    type: "response",
    id: query.id ?? 0,
    flags: AUTHORITATIVE_ANSWER | RECURSION_AVAILABLE | desired | (known === undefined ? NXDOMAIN : 0),
    questions: [question],
    answers,
  });
}

function addressOf(asker: string): { v4: string; v6: string } {
  return asker.includes(":") ? { v4: "", v6: asker } : { v4: asker, v6: "" };
}

function decodeQuery(message: Uint8Array): Packet | null {
  try {
    return decode(Buffer.from(message));
  } catch {
    return null;
  }
}
