import { type Address, parseAddress } from "../base/address.ts";
import { fitted } from "./answer.ts";
import { MAX_QUERY_BYTES } from "./question.ts";
import type { Resolver } from "./resolver.ts";

/** TCP connections in all, and of one client. */
const [MAX_CONNECTIONS, MAX_CONNECTIONS_OF_CLIENT] = [256, 16];
/** Questions of a connection that wait for their answers. */
const MAX_WAITING = 32;
const IDLE_SECONDS = 10;
/** Bytes of the length that precedes a message over TCP (RFC 1035, section 4.2.2). */
const LENGTH_BYTES = 2;

interface Connection {
  client: Address | null;
  received: Buffer;
  waiting: number;
}

/** The sockets at which the LAN asks, over UDP and TCP. */
export class Listener {
  private readonly clients = new Map<Address, number>();
  private connections = 0;
  private readonly close: (() => void)[] = [];

  private constructor(private readonly resolver: Pick<Resolver, "answer">) {}

  /** Throws the system's error if one of the addresses is not there, or its port is in use. */
  static async open(
    addresses: readonly Address[],
    port: number,
    resolver: Pick<Resolver, "answer">,
  ): Promise<Listener> {
    const listener = new Listener(resolver);
    try {
      for (const address of addresses) {
        await listener.openUdp(address, port);
        listener.openTcp(address, port);
      }
      return listener;
    } catch (error) {
      listener.stop();
      throw error;
    }
  }

  stop(): void {
    for (const close of this.close.splice(0)) close();
  }

  private async openUdp(hostname: Address, port: number): Promise<void> {
    const socket = await Bun.udpSocket({
      ...{ hostname, port },
      socket: {
        data: async (own, message, clientPort, text) => {
          const client = parseAddress(text);
          // The buffer belongs to the socket, which may use it again.
          const answered = client && (await this.resolver.answer(Uint8Array.from(message), client));
          if (answered && !own.closed) say(own, fitted(answered.answer, answered.question), clientPort, text);
        },
        // A client has closed its port before the answer came.
        error: () => {},
      },
    });
    this.close.push(() => socket.close());
  }

  private openTcp(hostname: Address, port: number): void {
    const server = Bun.listen<Connection>({
      ...{ hostname, port },
      socket: {
        open: (socket) => {
          socket.data = { client: null, received: Buffer.alloc(0), waiting: 0 };
          const client = parseAddress(socket.remoteAddress);
          if (client === null || !this.enter(client)) return socket.terminate();
          socket.data.client = client;
          socket.timeout(IDLE_SECONDS);
        },
        data: (socket, bytes) => {
          const { data } = socket;
          data.received = Buffer.concat([data.received, bytes]);
          this.readFrom(socket);
        },
        timeout: (socket) => socket.terminate(),
        close: ({ data }) => this.leave(data.client),
        error: (socket) => socket.terminate(),
      },
    });
    this.close.push(() => server.stop(true));
  }

  private readFrom(socket: Bun.Socket<Connection>): void {
    const { data } = socket;
    while (data.received.length >= LENGTH_BYTES) {
      const length = data.received.readUInt16BE();
      if (length > MAX_QUERY_BYTES || data.waiting >= MAX_WAITING) return void socket.terminate();
      const end = LENGTH_BYTES + length;
      if (data.received.length < end) return;
      const message = Uint8Array.from(data.received.subarray(LENGTH_BYTES, end));
      data.received = Buffer.from(data.received.subarray(end));
      void this.reply(socket, message);
    }
  }

  private async reply(socket: Bun.Socket<Connection>, message: Uint8Array): Promise<void> {
    const { data } = socket;
    if (data.client === null) return;
    data.waiting += 1;
    const answered = await this.resolver.answer(message, data.client);
    data.waiting -= 1;
    if (answered === null) return void socket.terminate();
    const { answer } = answered;
    const framed = Buffer.alloc(LENGTH_BYTES + answer.length);
    framed.writeUInt16BE(answer.length);
    framed.set(answer, LENGTH_BYTES);
    // A client that does not read gets no memory of the gateway.
    if (socket.write(framed) !== framed.length) socket.terminate();
    else socket.timeout(IDLE_SECONDS);
  }

  private enter(client: Address): boolean {
    const count = this.clients.get(client) ?? 0;
    if (this.connections >= MAX_CONNECTIONS || count >= MAX_CONNECTIONS_OF_CLIENT) return false;
    this.clients.set(client, count + 1);
    this.connections += 1;
    return true;
  }

  private leave(client: Address | null): void {
    if (client === null) return;
    const count = (this.clients.get(client) ?? 1) - 1;
    if (count === 0) this.clients.delete(client);
    else this.clients.set(client, count);
    this.connections -= 1;
  }
}

/**
 * Sends once more if that fails: the kernel has told of an earlier answer, whose client had closed its port, and has not
 * sent this one. Whoever does not hear the second one either asks again.
 */
function say(socket: Bun.udp.Socket<"buffer">, message: Uint8Array, port: number, address: string): void {
  for (let time = 0; time < 2; time += 1)
    try {
      socket.send(message, port, address);
      return;
    } catch {}
}
