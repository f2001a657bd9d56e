import { decode, encode, RECURSION_DESIRED } from "dns-packet";
import { now } from "./clock.ts";

/** Questions for addresses of names, over UDP. */
export interface Queries {
  server: string;
  /** Who asks, in turns: a gateway serves so many questions a second to each. */
  from: readonly string[];
  /** The domain below which the names are, and what is theirs alone. */
  below: string;
  prefix: string;
  /** How many names there are; they are asked in turns. */
  names: number;
  perSecond: number;
  count: number;
}

/** Milliseconds that each answer with an address took, and how many came without one, or never. */
export interface Answered {
  times: number[];
  failed: number;
}

/** One question, and the connection to the address in its answer. */
export interface FirstUse {
  address: string;
  answerMs: number;
  connectedMs: number;
}

const DNS_PORT = 53;
const ANSWERED_WITHIN_MS = 2_000;
const MAX_ID = 0xffff;

/** Asks at a steady rate, whether or not the answers come. */
export async function askNames(queries: Queries): Promise<Answered> {
  const askers = await Promise.all(queries.from.map((address) => Asker.open(address, queries.server)));
  const messages = Array.from({ length: queries.names }, (_, number) =>
    questionFor(`${queries.prefix}${number}.${queries.below}`),
  );
  const beganAt = now();
  const answers: Promise<number | null>[] = [];
  while (answers.length < queries.count) {
    const due = Math.min(queries.count, Math.floor(((now() - beganAt) / 1_000) * queries.perSecond) + 1);
    for (let number = answers.length; number < due; number += 1) {
      const asker = askers[number % askers.length];
      const message = messages[number % messages.length];
      if (asker !== undefined && message !== undefined) answers.push(asker.ask(message));
    }
    await Bun.sleep(1);
  }
  const times = (await Promise.all(answers)).filter((ms) => ms !== null);
  for (const asker of askers) asker.close();
  return { times, failed: answers.length - times.length };
}

/** What a program does that opens a page: it asks for the name, and connects to the address that it gets. */
export async function useName(server: string, from: string, name: string, port: number): Promise<FirstUse> {
  const asker = await Asker.open(from, server);
  const askedAt = now();
  const answerMs = await asker.ask(questionFor(name));
  const { address } = asker;
  asker.close();
  if (answerMs === null || address === null) throw new Error(`${server} does not know ${name}`);
  const connected = Promise.withResolvers<number>();
  const socket = await Bun.connect({
    ...{ hostname: address, port },
    socket: {
      open: () => connected.resolve(now()),
      data: () => {},
      error: (_, error) => connected.reject(error),
    },
  });
  const connectedAt = await connected.promise;
  socket.terminate();
  return { address, answerMs, connectedMs: connectedAt - askedAt };
}

/** One socket. */
class Asker {
  /** That of the last answer. */
  address: string | null = null;
  private id = 0;
  private readonly open = new Map<number, { askedAt: number; settle: (ms: number | null) => void }>();
  private socket: Bun.udp.ConnectedSocket<"buffer"> | null = null;

  static async open(hostname: string, server: string): Promise<Asker> {
    const asker = new Asker();
    asker.socket = await Bun.udpSocket({
      hostname,
      connect: { hostname: server, port: DNS_PORT },
      // What is refused comes as an error, and counts as not answered.
      socket: { data: (_, message) => asker.hear(message), error: () => {} },
    });
    return asker;
  }

  ask(message: Uint8Array): Promise<number | null> {
    const { promise, resolve } = Promise.withResolvers<number | null>();
    this.id = (this.id % MAX_ID) + 1;
    const { id } = this;
    new DataView(message.buffer, message.byteOffset).setUint16(0, id);
    const settle = (ms: number | null) => {
      clearTimeout(late);
      this.open.delete(id);
      resolve(ms);
    };
    const late = setTimeout(() => settle(null), ANSWERED_WITHIN_MS);
    this.open.set(id, { askedAt: now(), settle });
    try {
      this.socket?.send(message);
    } catch {
      // An earlier one was refused; the kernel tells it now, and does not send this one.
      settle(null);
    }
    return promise;
  }

  close(): void {
    this.socket?.close();
  }

  private hear(message: Buffer): void {
    const arrivedAt = now();
    const asked = this.open.get(message.readUInt16BE());
    if (asked === undefined) return;
    const found = decode(message).answers?.find(({ type }) => type === "A");
    this.address = found?.type === "A" ? found.data : null;
    asked.settle(found === undefined ? null : arrivedAt - asked.askedAt);
  }
}

function questionFor(name: string): Uint8Array {
  return encode({ type: "query", flags: RECURSION_DESIRED, questions: [{ type: "A", name }] });
}
