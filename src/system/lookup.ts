import dgram from "node:dgram";
import { isIPv6 } from "node:net";
import { decode, encode, RECURSION_DESIRED, type RecordType } from "dns-packet";
import { GatewayError } from "../base/errors.ts";

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
      ...(await ask(name, "A", resolver, sourcePort)),
      ...(await ask(name, "AAAA", resolver, sourcePort)),
    ];
    if (answers.length > 0) return answers;
  }
  throw new GatewayError("unable", `the name ${name} does not resolve`);
}

async function ask(
  name: string,
  type: "A" | "AAAA",
  resolver: string,
  sourcePort: number,
): Promise<string[]> {
  const id = crypto.getRandomValues(new Uint16Array(1))[0] ?? 0;
  const query = encode({
    type: "query",
    id,
    flags: RECURSION_DESIRED,
    questions: [{ type: type as RecordType, name }],
  });
  const socket = dgram.createSocket(isIPv6(resolver) ? "udp6" : "udp4");
  const { promise, resolve } = Promise.withResolvers<string[]>();
  const timer = setTimeout(() => resolve([]), ANSWER_TIMEOUT_MS);
  socket.on("error", () => resolve([]));
  socket.on("message", (message, from) => {
    if (from.port === 53) resolve(answersOf(message, id, type) ?? []);
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

function answersOf(message: Buffer, id: number, type: "A" | "AAAA"): string[] | null {
  try {
    const packet = decode(message);
    if (packet.id !== id) return null;
    return (packet.answers ?? []).flatMap((answer) => (answer.type === type ? [answer.data as string] : []));
  } catch {
    return null;
  }
}
