import dgram from "node:dgram";
import { isIPv6 } from "node:net";
import { FLAG, HEADER_BYTES, queryAbout, TYPE, viewOf } from "../base/dns-message.ts";

/** A query may get lost, so an unanswered one is repeated. */
const SENT_AT_MS = [0, 800, 2_500];
/** A resolver that has to ask others over a slow line takes seconds. */
const ANSWERED_WITHIN_MS = 5_000;
/** After the first answer: the others answer the same question, so they follow soon. */
const FOLLOWED_WITHIN_MS = 1_500;
/** Exists everywhere and reveals nothing about the client (RFC 7050, 2). */
const NAME = "ipv4only.arpa";
/** Bytes of the headers of IP and UDP. */
const HEADERS = { 4: 20 + 8, 6: 40 + 8 };
/** Of an OPT record without options (RFC 6891, section 6.1.2), and of the head of an option. */
const [OPT_BYTES, OPTION_BYTES] = [11, 4];
const PADDING = 12;
/** Answers need not be long (RFC 9715). */
const ANSWER_BYTES = 1_232;

/**
 * Sends a resolver one query for each size, padded to an IP packet of that size (RFC 7830), all at once; returns the
 * sizes that were answered, whatever the answer. Linux forbids routers to fragment such packets (ip(7),
 * IP_MTU_DISCOVER).
 */
export async function probeResolver(resolver: string, sizes: readonly number[]): Promise<number[]> {
  const socket = dgram.createSocket(isIPv6(resolver) ? "udp6" : "udp4");
  const answered = new Set<number>();
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = crypto.getRandomValues(new Uint16Array(1))[0] ?? 0;
  const idOf = (index: number) => (first + index) & 0xffff;
  socket.on("error", () => {});
  socket.on("message", (message) => {
    const at = ((idIn(message) ?? first - 1) - first) & 0xffff;
    const size = sizes[at];
    if (size === undefined) return;
    if (answered.size === 0) timers.push(setTimeout(resolve, FOLLOWED_WITHIN_MS));
    answered.add(size);
    if (answered.size === sizes.length) resolve();
  });
  const send = () => {
    // The kernel refuses a packet that is too long for the link: no answer, like one that gets lost.
    for (const [index, size] of sizes.entries())
      if (!answered.has(size)) socket.send(queryOf(idOf(index), size, resolver), () => {});
  };
  // On a connected socket the kernel drops answers that are not from this resolver.
  socket.connect(53, resolver, (error?: Error) => {
    if (error) resolve();
    else for (const ms of SENT_AT_MS) timers.push(setTimeout(send, ms));
  });
  const timers = [setTimeout(resolve, ANSWERED_WITHIN_MS)];
  await promise;
  for (const timer of timers) clearTimeout(timer);
  socket.close();
  return sizes.filter((size) => answered.has(size));
}

/** A query that makes an IP packet of so many bytes, by a padding option in its OPT record. */
function queryOf(id: number, bytes: number, resolver: string): Uint8Array {
  const bare = queryAbout(id, NAME, TYPE.a, FLAG.recursion);
  const least = bare.length + OPT_BYTES + OPTION_BYTES;
  const query = new Uint8Array(Math.max(least, bytes - HEADERS[isIPv6(resolver) ? 6 : 4]));
  query.set(bare);
  const view = viewOf(query);
  // One additional record.
  view.setUint16(10, 1);
  view.setUint16(bare.length + 1, TYPE.opt);
  view.setUint16(bare.length + 3, ANSWER_BYTES);
  view.setUint16(bare.length + 9, query.length - bare.length - OPT_BYTES);
  view.setUint16(bare.length + OPT_BYTES, PADDING);
  view.setUint16(bare.length + OPT_BYTES + 2, query.length - least);
  return query;
}

function idIn(message: Uint8Array): number | null {
  if (message.length < HEADER_BYTES) return null;
  const view = viewOf(message);
  return (view.getUint16(2) & FLAG.response) === 0 ? null : view.getUint16(0);
}
