import type { Answer as DnsRecord } from "dns-packet";
import type { Address } from "../../src/base/address.ts";
import type { Sockets } from "../../src/dns/upstream.ts";
import { openBoundTcp, openBoundUdp } from "../../src/system/bound-socket.ts";
import { ips } from "../fake/address.ts";
import { a, decoded, reply } from "./messages.ts";

/** A query as a resolver sees it. */
export interface Asked {
  query: Uint8Array;
  over: "udp" | "tcp";
  name: string;
  type: string;
  hasEdns: boolean;
}

/** What a resolver sends to a query: messages, at once or after a while; null for none. */
export type Manner = (asked: Asked) => Uint8Array | null | Promise<Uint8Array | null>;

export const ADDRESS = "192.0.2.1";

/** What a resolver should say. */
export const good: Manner = ({ query, name, type }) => reply(query, type === "A" ? [a(name, ADDRESS)] : []);

export const records = (of: (name: string) => DnsRecord[]): Manner => {
  return ({ query, name }) => reply(query, of(name));
};

/** A resolver on loopback, at a port of its own. */
export class OddResolver {
  readonly seen: Asked[] = [];

  private constructor(
    readonly port: number,
    private readonly stops: (() => void)[],
  ) {}

  /** Over TCP, nobody listens unless `tcp` says what is answered there. */
  static async start(udp: Manner, tcp: Manner | null = null): Promise<OddResolver> {
    const manner = async (query: Uint8Array, over: "udp" | "tcp") => {
      const { questions: [question] = [], additionals = [] } = decoded(query);
      const asked = {
        query,
        over,
        name: question?.name ?? "",
        type: question?.type ?? "",
        hasEdns: additionals.length > 0,
      };
      resolver.seen.push(asked);
      return (over === "udp" ? udp : tcp)?.(asked) ?? null;
    };
    const socket = await Bun.udpSocket({
      hostname: "127.0.0.1",
      socket: {
        data: async (own, bytes, port, address) => {
          const answer = await manner(Uint8Array.from(bytes), "udp");
          if (answer !== null && !own.closed) own.send(answer, port, address);
        },
      },
    });
    const { port } = socket;
    const listening =
      tcp &&
      Bun.listen({
        ...{ hostname: "127.0.0.1", port },
        socket: {
          data: async (own, bytes) => {
            const answer = await manner(Uint8Array.from(bytes.subarray(2)), "tcp");
            if (answer === null) return;
            own.write(Uint8Array.from([answer.length >> 8, answer.length & 0xff, ...answer]));
          },
        },
      });
    const resolver = new OddResolver(port, [() => socket.close(), () => listening?.stop(true)]);
    return resolver;
  }

  stop(): void {
    for (const stop of this.stops) stop();
  }
}

/** Sockets that lead the addresses of an exit to these resolvers. */
export function socketsTo(resolvers: readonly OddResolver[]): { addresses: Address[]; sockets: Sockets } {
  const addresses = ips(...resolvers.map((_, index) => `10.64.0.${index + 1}`));
  const led = (way: { peer: { address: string } }) => ({
    ...{ link: null, mark: 0 },
    peer: {
      address: "127.0.0.1",
      port: resolvers[addresses.indexOf(way.peer.address as Address)]?.port ?? 0,
    },
  });
  return {
    addresses,
    sockets: {
      udp: (way, ears) => openBoundUdp(led(way), ears),
      tcp: (way, ears) => openBoundTcp(led(way), ears),
    },
  };
}
