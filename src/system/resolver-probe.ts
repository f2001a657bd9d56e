import dgram from "node:dgram";
import { isIPv6 } from "node:net";
import { decode, encode, type Packet, RECURSION_DESIRED } from "dns-packet";

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

function queryOf(id: number, bytes: number, resolver: string): Buffer {
  const bare = encode(query(id, 0)).length;
  return encode(query(id, Math.max(0, bytes - HEADERS[isIPv6(resolver) ? 6 : 4] - bare)));
}

function query(id: number, padding: number): Packet {
  return {
    type: "query",
    id,
    flags: RECURSION_DESIRED,
    questions: [{ type: "A", name: NAME }],
    additionals: [
      {
        type: "OPT",
        name: ".",
        udpPayloadSize: ANSWER_BYTES,
        extendedRcode: 0,
        ednsVersion: 0,
        flags: 0,
        flag_do: false,
        options: [{ code: 12, type: "PADDING", length: padding }],
      },
    ],
  };
}

function idIn(message: Buffer): number | null {
  try {
    const { id, type } = decode(message);
    return type === "response" ? (id ?? null) : null;
  } catch {
    return null;
  }
}
