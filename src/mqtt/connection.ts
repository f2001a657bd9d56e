import type { Socket } from "node:net";
import { generate, type Packet, parser } from "mqtt-packet";
import { GatewayError } from "../base/errors.ts";
import type { Host } from "../system/host.ts";
import { type Dialled, hello, KEEP_ALIVE_MS, socketTo } from "./dialled.ts";
import { Frames } from "./frames.ts";
import { refused } from "./refusals.ts";

/** From the first connection attempt to the broker's answer. */
const ANSWER_TIMEOUT_MS = 10_000;
/** More than people and their automations send. Reading a packet takes 10 µs. */
const MAX_PACKETS = 100;
const PERIOD_MS = 1_000;
/**
 * The amount that is processed in one turn of the event loop, which may be 16,000 packets. The socket gives 512 KiB at
 * once.
 */
const MAX_BYTES_A_TURN = 32 * 1024;
/** Meanwhile, further data of the broker waits in the kernel: it cannot send faster than 1.6 MB/s. */
const PAUSE_MS = 20;
/** How long the last message may take to leave. */
const GOODBYE_MS = 500;

const CLOSED = "the broker closed the connection";

export interface Message {
  topic: string;
  payload: string;
  /** Whether it was published before the subscription. */
  retained: boolean;
}

/** Nobody has taken the connection: another address of the broker may be tried. */
export class Unreached extends GatewayError {}

/**
 * A session with a broker (MQTT 3.1.1). Messages are sent at most once, and retained. A new session sends all of them
 * again.
 */
export class Connection {
  private readonly frames = new Frames();
  private readonly ended = new AbortController();
  private readonly accepted = Promise.withResolvers<void>();
  private heard = true;
  private isReached = false;
  /** The number of packets that were read in the current second, and when it began. */
  private read = { since: Number.NEGATIVE_INFINITY, packets: 0 };
  private receiving: Promise<unknown> = Promise.resolve();
  private onMessage: (message: Message) => void = () => {};
  private onSubscribed: (granted: readonly unknown[]) => void = () => {};
  /** Resolves once the connection is closed. */
  readonly closed: Promise<void>;
  private reason: string | null = null;

  private constructor(
    private readonly socket: Socket,
    private readonly clock: Pick<Host, "sleep" | "monotonic">,
  ) {
    this.closed = new Promise((resolve) => socket.once("close", () => resolve()));
    void this.closed.then(() => this.ended.abort());
    socket.once("connect", () => {
      this.isReached = true;
    });
    socket.on("error", (error) => this.close(reasonOf(error)));
    socket.on("data", (chunk: Buffer) => {
      this.heard = true;
      this.receiving = this.receiving.then(() => this.receive(chunk));
    });
  }

  /** Throws `GatewayError("unable")` that says why there is no session; `Unreached` if the broker was not reached. */
  static async open(
    dialled: Dialled,
    clock: Pick<Host, "sleep" | "monotonic">,
    signal: AbortSignal,
  ): Promise<Connection> {
    const socket = socketTo(dialled);
    const connection = new Connection(socket, clock);
    const over = new AbortController();
    const cancel = () => connection.close("the service stops");
    signal.addEventListener("abort", cancel, { once: true });
    if (signal.aborted) cancel();
    void clock.sleep(ANSWER_TIMEOUT_MS, over.signal).then(() => {
      if (!over.signal.aborted) connection.close("the broker does not answer");
    });
    socket.once(dialled.certified === null ? "connect" : "secureConnect", () =>
      connection.send(hello(dialled)),
    );
    const failed = connection.closed.then(() => {
      const fault = refused("broker_unreached", { reason: connection.fault });
      throw connection.isReached ? fault : new Unreached(fault.code, fault.message, { args: fault.args });
    });
    try {
      await Promise.race([connection.accepted.promise, failed]);
    } finally {
      over.abort();
      signal.removeEventListener("abort", cancel);
      failed.catch(() => {});
    }
    void connection.keepAlive();
    return connection;
  }

  /** Why it was closed. */
  get fault(): string {
    return this.reason ?? CLOSED;
  }

  /** Whether the broker has not accepted everything yet. */
  get isBusy(): boolean {
    return this.socket.writableLength > 0;
  }

  /** An empty payload removes what is retained. */
  publish(topic: string, payload: string): void {
    this.send({ cmd: "publish", topic, payload, qos: 0, retain: true, dup: false });
  }

  subscribe(
    topics: readonly string[],
    onMessage: (message: Message) => void,
    onRefused: (topic: string) => void,
  ): void {
    this.onMessage = onMessage;
    this.onSubscribed = (granted) =>
      topics.forEach((topic, index) => {
        if (granted[index] === REFUSED) onRefused(topic);
      });
    const subscriptions = topics.map((topic) => ({ topic, qos: 0 as const }));
    this.send({ cmd: "subscribe", messageId: SUBSCRIPTION, subscriptions });
  }

  /** Ends the session. The broker does not publish the will. */
  async end(): Promise<void> {
    this.send({ cmd: "disconnect" });
    this.socket.end();
    await Promise.race([this.closed, this.clock.sleep(GOODBYE_MS)]);
    this.close("the service stops");
  }

  /** Drops the connection. The first reason counts. */
  close(fault: string): void {
    this.reason ??= fault;
    this.socket.destroy();
  }

  private send(packet: Packet): void {
    if (!this.socket.destroyed) this.socket.write(generate(packet));
  }

  /** Handles received data, in pieces. No more comes meanwhile. */
  private async receive(chunk: Buffer): Promise<void> {
    this.socket.pause();
    for (let at = 0; at < chunk.length && !this.ended.signal.aborted; at += MAX_BYTES_A_TURN) {
      this.take(chunk.subarray(at, at + MAX_BYTES_A_TURN));
      await this.clock.sleep(PAUSE_MS, this.ended.signal);
    }
    this.socket.resume();
  }

  /** Packets beyond the limit for a second are dropped. */
  private take(bytes: Buffer): void {
    const now = this.clock.monotonic();
    if (now - this.read.since >= PERIOD_MS) this.read = { since: now, packets: 0 };
    try {
      const frames = this.frames.take(bytes, MAX_PACKETS - this.read.packets);
      this.read.packets += frames.length;
      for (const frame of frames) this.handle(packetIn(frame));
    } catch {
      this.close("it does not speak MQTT");
    }
  }

  private handle(packet: Packet | null): void {
    if (packet?.cmd === "publish") {
      const { topic, payload, retain } = packet;
      this.onMessage({ topic, payload: payload.toString(), retained: retain });
    } else if (packet?.cmd === "suback" && packet.messageId === SUBSCRIPTION) {
      this.onSubscribed(packet.granted);
    } else if (packet?.cmd === "connack") {
      if (packet.returnCode === 0) this.accepted.resolve();
      else this.close(REFUSALS[packet.returnCode ?? 0] ?? "the broker refuses the connection");
    }
  }

  private async keepAlive(): Promise<void> {
    while (!this.ended.signal.aborted) {
      if (!this.heard) return this.close("the broker no longer answers");
      this.heard = false;
      this.send({ cmd: "pingreq" });
      await this.clock.sleep(KEEP_ALIVE_MS, this.ended.signal);
    }
  }
}

/** The only packet of a session that has an id. */
const SUBSCRIPTION = 1;

/** Sent instead of a granted quality of service (MQTT 3.1.1, section 3.9.3). */
const REFUSED = 0x80;

/** MQTT 3.1.1, section 3.2.2.3. */
const REFUSALS: Record<number, string> = {
  1: "the broker does not support MQTT 3.1.1",
  2: "the broker refuses the client's name",
  3: "the broker is not available",
  4: "the broker refuses the user or the password: see --mqtt and --mqtt-password-file",
  5: "the broker refuses the user or the password: see --mqtt and --mqtt-password-file",
};

/** Null if the gateway does not know the packet. Throws if it is malformed. */
function packetIn(frame: Uint8Array): Packet | null {
  let found: Packet | null = null;
  const reader = parser({ protocolVersion: 4 });
  reader.on("packet", (packet: Packet) => {
    found = packet;
  });
  reader.on("error", (error: unknown) => {
    throw error;
  });
  reader.parse(Buffer.from(frame));
  return found;
}

/**
 * The messages of libraries may quote what was sent. Therefore only codes are shown, and messages of TLS about the
 * broker's certificate.
 */
function reasonOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  switch (code) {
    case "ECONNRESET":
    case "EPIPE":
      return CLOSED;
    case "ECONNREFUSED":
      return "connection refused";
    case "ETIMEDOUT":
    case "EHOSTUNREACH":
    case "ENETUNREACH":
    case "EADDRNOTAVAIL":
    case "EPERM":
    case "EACCES":
      return "the broker cannot be reached";
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return "its certificate is for another name";
    default:
      return error.message;
  }
}
