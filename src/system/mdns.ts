import dgram from "node:dgram";
import { isIPv6 } from "node:net";
import { bytesOf, mustParseAddress } from "../base/address.ts";
import { answersIn, plainName, queryAbout, TYPE } from "../base/dns-message.ts";

const PORT = 5353;
/** Avahi takes 0.6 s, a sleeping phone longer. */
const ANSWER_TIMEOUT_MS = 3_000;
/** The largest multicast DNS message (RFC 6762, section 17). */
const MAX_BYTES = 9_000;
/** RFC 6762, section 11. */
const HOP_LIMIT = 255;
const DOMAIN = ".local";

/**
 * Asks a host of the LAN what it is called, by a multicast DNS query that is sent to its own address only (RFC 6762,
 * section 5.5): nobody else is disturbed, and no host can answer for another. Null without an answer. The name is
 * whatever the host says.
 */
export async function hostNameOf(address: string): Promise<string | null> {
  const question = reverseName(address);
  const id = crypto.getRandomValues(new Uint16Array(1))[0] ?? 0;
  const query = queryAbout(id, question, TYPE.ptr, 0);
  const socket = dgram.createSocket(isIPv6(address) ? "udp6" : "udp4");
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const timer = setTimeout(() => resolve(null), ANSWER_TIMEOUT_MS);
  // Most hosts do not take part, and say so by an ICMP error.
  socket.on("error", () => resolve(null));
  socket.on("message", (message) => {
    const name = nameIn(message, id, question);
    if (name !== undefined) resolve(name);
  });
  // On a connected socket the kernel drops answers that are not from this host's port 5353.
  socket.connect(PORT, address, (error?: Error) => {
    if (error) return resolve(null);
    try {
      socket.setTTL(HOP_LIMIT);
      socket.send(query, (failed) => failed && resolve(null));
    } catch {
      resolve(null);
    }
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.close();
  }
}

/** The name in an answer to this question; null if it has none, undefined if it is not an answer to it. */
export function nameIn(message: Uint8Array, id: number, question: string): string | null | undefined {
  if (message.length > MAX_BYTES) return undefined;
  const answers = answersIn(message, id);
  if (answers === null) return undefined;
  const answer = answers.find(({ type, name }) => type === TYPE.ptr && name === question);
  if (answer === undefined) return null;
  const name = nameAt(message, answer.dataAt);
  return name?.toLowerCase().endsWith(DOMAIN) ? name.slice(0, -DOMAIN.length) : name;
}

/** As the host writes it: with capitals, and in UTF-8 (RFC 6762, section 16). */
function nameAt(message: Uint8Array, start: number): string | undefined {
  try {
    const { bytes } = plainName(message, start);
    const labels: string[] = [];
    for (let at = 0; bytes[at]; at += 1 + (bytes[at] ?? 0))
      labels.push(new TextDecoder().decode(bytes.subarray(at + 1, at + 1 + (bytes[at] ?? 0))));
    return labels.join(".");
  } catch {
    return undefined;
  }
}

/** The name of an address's reverse mapping (RFC 1035, section 3.5; RFC 3596, section 2.5). */
export function reverseName(address: string): string {
  const bytes = bytesOf(mustParseAddress(address));
  if (bytes.length === 4) return `${bytes.toReversed().join(".")}.in-addr.arpa`;
  return `${bytes.toHex().split("").toReversed().join(".")}.ip6.arpa`;
}
