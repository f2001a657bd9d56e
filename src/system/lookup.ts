import dgram from "node:dgram";
import { isIPv6 } from "node:net";
import { addressFrom } from "../base/address.ts";
import { answersIn, FLAG, queryAbout, TYPE } from "../base/dns-message.ts";
import { refused } from "./refusals.ts";

/** How long to wait for one resolver before the next is tried. */
const ANSWER_TIMEOUT_MS = 1_500;

/**
 * Queries `resolvers` in turn for the addresses of `name`, IPv4 first, from UDP port `sourcePort`: the kill switch
 * permits only that port, so no other program's query can pass (RFC 1035; no search domains, no cache).
 */
export async function lookup(
  name: string,
  resolvers: readonly string[],
  sourcePort: number,
): Promise<string[]> {
  for (const resolver of resolvers) {
    const answers = [
      ...(await ask(name, TYPE.a, resolver, sourcePort)),
      ...(await ask(name, TYPE.aaaa, resolver, sourcePort)),
    ];
    if (answers.length > 0) return answers;
  }
  throw refused("name_unresolved", { name });
}

async function ask(name: string, type: number, resolver: string, sourcePort: number): Promise<string[]> {
  const id = crypto.getRandomValues(new Uint16Array(1))[0] ?? 0;
  const query = queryFor(id, name, type);
  if (query === null) return [];
  const socket = dgram.createSocket(isIPv6(resolver) ? "udp6" : "udp4");
  const { promise, resolve } = Promise.withResolvers<string[]>();
  const timer = setTimeout(() => resolve([]), ANSWER_TIMEOUT_MS);
  socket.on("error", () => resolve([]));
  socket.on("message", (message, from) => {
    if (from.port === 53) resolve(addressesIn(message, id, type));
  });
  socket.bind(sourcePort, () => {
    // On a connected socket the kernel drops answers that are not from this resolver.
    socket.connect(53, resolver, (error?: Error) => {
      if (error) resolve([]);
      else socket.send(query, (failed) => failed && resolve([]));
    });
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.close();
  }
}

/** Null for a name that DNS cannot have, for which nobody is asked. */
function queryFor(id: number, name: string, type: number): Uint8Array | null {
  try {
    return queryAbout(id, name, type, FLAG.recursion);
  } catch {
    return null;
  }
}

/** Of this type, whichever name has them: an alias leads to another one. */
export function addressesIn(message: Uint8Array, id: number, type: number): string[] {
  const length = type === TYPE.a ? 4 : 16;
  return (answersIn(message, id) ?? [])
    .filter((answer) => answer.type === type && answer.dataEnd - answer.dataAt === length)
    .map(({ dataAt, dataEnd }) => addressFrom(message.subarray(dataAt, dataEnd)));
}
