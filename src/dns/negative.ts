import { ownAnswer, RCODE } from "./answer.ts";
import type { Question } from "./question.ts";
import { TYPE } from "./wire.ts";

/** So that a rule that is removed is not noticed late (RFC 2308, section 5). */
const TTL_SECONDS = 10;

/** There is no such name, says the gateway. */
export function noSuchName(question: Question): Uint8Array {
  return ownAnswer(question, RCODE.noName, [], [{ type: TYPE.soa, ttl: TTL_SECONDS, data: SOA }]);
}

/** Names of server and mailbox, and serial, refresh, retry, expire, minimum (RFC 1035, section 3.3.13). */
const SOA = Uint8Array.from([
  ...[...nameBytes("portcullis.home.arpa"), ...nameBytes("nobody.invalid")],
  ...[1, 3_600, 600, 86_400, TTL_SECONDS].flatMap((value) => [
    ...[(value >>> 24) & 0xff, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff],
  ]),
]);

/** A name as it lies in a message. */
function nameBytes(name: string): number[] {
  return [...name.split(".").flatMap((label) => [label.length, ...Buffer.from(label)]), 0];
}
