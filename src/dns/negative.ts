import { nameBytes, TYPE } from "../base/dns-message.ts";
import { GATEWAY_LABEL, HOME_ZONE } from "../base/home-zone.ts";
import { ownAnswer, RCODE } from "./answer.ts";
import type { Question } from "./question.ts";

/** So that a rule that is removed is not noticed late (RFC 2308, section 5). */
const TTL_SECONDS = 10;

/** NXDOMAIN, from the gateway. */
export function noSuchName(question: Question): Uint8Array {
  return ownAnswer(question, RCODE.noName, [], [START_OF_AUTHORITY]);
}

/** NODATA: the name exists without records of the type that was asked. */
export function nothingOfThisType(question: Question): Uint8Array {
  return ownAnswer(question, RCODE.ok, [], [START_OF_AUTHORITY]);
}

/** Names of server and mailbox, and serial, refresh, retry, expire, minimum (RFC 1035, section 3.3.13). */
const START_OF_AUTHORITY = {
  type: TYPE.soa,
  ttl: TTL_SECONDS,
  data: Uint8Array.from([
    ...[...nameBytes(`${GATEWAY_LABEL}.${HOME_ZONE}`), ...nameBytes("nobody.invalid")],
    ...[1, 3_600, 600, 86_400, TTL_SECONDS].flatMap((value) => [
      ...[(value >>> 24) & 0xff, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff],
    ]),
  ]),
};
