import net from "node:net";

/** One end of a WebSocket, spoken byte by byte, so that a test can be slow, rude or come from another address. */
export class Listener {
  readonly messages: string[] = [];
  /** Code and reason of the close frame; null where the connection just ended. */
  closing: { code: number; reason: string } | null = null;
  private readonly pongs: string[] = [];
  ended = false;
  #rest = Buffer.alloc(0);
  #wake: (() => void)[] = [];

  constructor(
    private readonly socket: net.Socket,
    first: Buffer,
  ) {
    const awake = () => {
      for (const wake of this.#wake.splice(0)) wake();
    };
    socket.on("data", (chunk: Buffer) => {
      this.#take(chunk);
      awake();
    });
    socket.on("close", () => {
      this.ended = true;
      awake();
    });
    this.#take(first);
  }

  /** The events that came, as soon as there are so many; fails where the connection ends before. */
  async received(count: number): Promise<unknown[]> {
    await this.#until(() => this.messages.length >= count);
    return this.messages.map((text) => {
      const { stale: _, ...event } = JSON.parse(text);
      return event;
    });
  }

  /** What the last message makes stale, as soon as there are so many messages. */
  async stale(count: number): Promise<string[]> {
    await this.received(count);
    return JSON.parse(this.messages[count - 1] ?? "").stale;
  }

  /** What the first pong holds. */
  async pong(): Promise<string | undefined> {
    await this.#until(() => this.pongs.length > 0);
    return this.pongs[0];
  }

  async end(): Promise<typeof this.closing> {
    await this.#until(() => this.ended);
    return this.closing;
  }

  send(opcode: number, payload: string): void {
    this.socket.write(frameOf(opcode, Buffer.from(payload)));
  }

  raw(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  destroy(): void {
    this.socket.destroy();
  }

  async #until(done: () => boolean): Promise<void> {
    while (!done()) {
      if (this.ended) throw new Error(`the connection ended after ${this.messages.length} messages`);
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  /** RFC 6455, section 5.2; what a server sends is not masked. */
  #take(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 2) {
      const short = (this.#rest[1] ?? 0) & 0x7f;
      const head = short === 127 ? 10 : short === 126 ? 4 : 2;
      if (this.#rest.length < head) return;
      const length = short === 126 ? this.#rest.readUInt16BE(2) : short;
      if (short === 127) throw new Error("no event is that long");
      if (this.#rest.length < head + length) return;
      this.#read((this.#rest[0] ?? 0) & 0x0f, this.#rest.subarray(head, head + length));
      this.#rest = this.#rest.subarray(head + length);
    }
  }

  #read(opcode: number, payload: Buffer): void {
    if (opcode === 1) this.messages.push(payload.toString());
    if (opcode === 8) this.closing = { code: payload.readUInt16BE(0), reason: payload.toString("utf8", 2) };
    if (opcode === 10) this.pongs.push(payload.toString());
  }
}

/** The handshake of RFC 6455's own example, with other headers or from another loopback address. */
export async function knock(
  port: number,
  headers: Record<string, string> = {},
  localAddress = "127.0.0.1",
  path = "/ws",
): Promise<{ status: number; text: string; listener: Listener }> {
  const socket = net.connect({ host: "127.0.0.1", port, localAddress });
  const all = { Host: "localhost", ...HANDSHAKE, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
  // An end that is reset is an end like any other.
  socket.on("error", () => {});
  const { text, rest } = await headOf(socket);
  return { status: Number(text.split(" ")[1]), text, listener: new Listener(socket, rest) };
}

export const HANDSHAKE = {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
};

export async function listenTo(port: number, localAddress?: string, path?: string): Promise<Listener> {
  const { status, listener } = await knock(port, {}, localAddress, path);
  if (status !== 101) throw new Error(`${status} instead of 101`);
  return listener;
}

/** An upgrade's head, and what came behind it; of another answer, all that came with the head. */
function headOf(socket: net.Socket): Promise<{ text: string; rest: Buffer }> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    const take = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      const end = bytes.indexOf("\r\n\r\n");
      if (end < 0) return;
      socket.off("data", take);
      const upgraded = bytes.toString("latin1").startsWith("HTTP/1.1 101");
      resolve({ text: bytes.toString(), rest: upgraded ? bytes.subarray(end + 4) : Buffer.alloc(0) });
    };
    socket.on("data", take);
    socket.on("close", () => reject(new Error("closed without an answer")));
  });
}

/** What a client sends is masked; with zeros, the payload stays readable. */
function frameOf(opcode: number, payload: Buffer): Buffer {
  const length =
    payload.length < 126 ? [0x80 | payload.length] : [0xfe, payload.length >> 8, payload.length & 0xff];
  return Buffer.concat([Buffer.from([0x80 | opcode, ...length, 0, 0, 0, 0]), payload]);
}
