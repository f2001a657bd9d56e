import type { Address } from "../base/address.ts";
import { caught, type Soon, soon } from "../base/soon.ts";
import { fitted } from "./answer.ts";
import { MAX_QUERY_BYTES } from "./question.ts";
import type { Reply } from "./resolver.ts";

/** Questions of a connection that wait for their answers. */
const MAX_WAITING = 32;
const IDLE_SECONDS = 10;
/** Bytes of the length that precedes a message over TCP (RFC 1035, section 4.2.2). */
const LENGTH_BYTES = 2;

type UdpSocket = Bun.udp.Socket<"buffer">;

interface Connection {
  /** Whether it has a place among the device's connections. */
  isTaken: boolean;
  received: Buffer;
  waiting: number;
  /** The client has closed its side, and still reads (RFC 7766, section 6.2.4). */
  isEnded: boolean;
}

/** Answers the queries of a device. */
interface Answerer {
  /**
   * Null for no answer. Reads the message before it returns: over UDP, the socket may use its buffer again. An answer that it
   * returns at once may be gone after the turn.
   */
  answer: (message: Uint8Array) => Soon<Reply | null>;
  /** Whether the device may have one more TCP connection. */
  enter: () => boolean;
  leave: () => void;
  /** Hears of what an answer threw. */
  failed: (error: unknown) => void;
}

/** The sockets at which one device asks, over UDP and TCP. */
export class Listener {
  private readonly close: (() => void)[] = [];

  private constructor(private readonly answerer: Answerer) {}

  /** Throws the system's error if one of the addresses is not there, or its port is in use. */
  static async open(addresses: readonly Address[], port: number, answerer: Answerer): Promise<Listener> {
    const listener = new Listener(answerer);
    try {
      for (const address of addresses) listener.openTcp(address, port);
      const opened = await Promise.allSettled(addresses.map((address) => listener.openUdp(address, port)));
      for (const each of opened) if (each.status === "rejected") throw each.reason;
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
        data: (own, buffer, clientPort, text) => this.hear(own, buffer, clientPort, text),
        // A client has closed its port before the answer came.
        error: () => {},
      },
    });
    this.close.push(() => socket.close());
  }

  /** Makes no function for each question: most answers are there at once, and these would take microseconds more. */
  private hear(socket: UdpSocket, message: Uint8Array, port: number, address: string): void {
    try {
      const answered = this.answerer.answer(message);
      if (answered instanceof Promise)
        answered.then((later) => tell(socket, later, port, address)).catch(this.answerer.failed);
      else tell(socket, answered, port, address);
    } catch (error) {
      this.answerer.failed(error);
    }
  }

  private openTcp(hostname: Address, port: number): void {
    const server = Bun.listen<Connection>({
      ...{ hostname, port, allowHalfOpen: true },
      socket: {
        open: (socket) => {
          const isTaken = this.answerer.enter();
          socket.data = { isTaken, received: Buffer.alloc(0), waiting: 0, isEnded: false };
          if (isTaken) socket.timeout(IDLE_SECONDS);
          else socket.terminate();
        },
        data: (socket, bytes) => {
          const { data } = socket;
          data.received = Buffer.concat([data.received, bytes]);
          this.readFrom(socket);
        },
        end: (socket) => {
          socket.data.isEnded = true;
          if (socket.data.waiting === 0) socket.end();
        },
        timeout: (socket) => socket.terminate(),
        close: ({ data }) => {
          if (data.isTaken) this.answerer.leave();
        },
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
      const message = new Uint8Array(data.received.subarray(LENGTH_BYTES, end));
      data.received = Buffer.from(data.received.subarray(end));
      this.attempt(() => this.reply(socket, message));
    }
  }

  /** No question may end the service, whatever it makes throw: it gets no answer. */
  private attempt(work: () => Soon<void>): void {
    void caught(work, this.answerer.failed);
  }

  private async reply(socket: Bun.Socket<Connection>, message: Uint8Array): Promise<void> {
    const { data } = socket;
    data.waiting += 1;
    let framed: Buffer | null;
    try {
      framed = await soon(this.answerer.answer(message), framedOf);
    } finally {
      data.waiting -= 1;
    }
    if (framed === null) return void socket.terminate();
    // No memory is spent on a client that does not read.
    if (socket.write(framed) !== framed.length) socket.terminate();
    else if (data.isEnded && data.waiting === 0) socket.end();
    else socket.timeout(IDLE_SECONDS);
  }
}

/** As it is sent over TCP, after its length. */
function framedOf(answered: Reply | null): Buffer | null {
  if (answered === null) return null;
  const { answer } = answered;
  const framed = Buffer.alloc(LENGTH_BYTES + answer.length);
  framed.writeUInt16BE(answer.length);
  framed.set(answer, LENGTH_BYTES);
  return framed;
}

function tell(socket: UdpSocket, answered: Reply | null, port: number, address: string): void {
  if (answered === null || socket.closed) return;
  say(socket, fitted(answered.answer, answered.question), port, address);
}

/**
 * Sends once more if that fails: the kernel has told of an earlier answer, whose client had closed its port, and has
 * not sent this one. A client that misses the second one too asks again.
 */
function say(socket: UdpSocket, message: Uint8Array, port: number, address: string): void {
  for (let time = 0; time < 2; time += 1)
    try {
      socket.send(message, port, address);
      return;
    } catch {}
}
