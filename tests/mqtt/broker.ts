import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { generate, type IConnectPacket, type Packet, parser } from "mqtt-packet";

/** A broker for one client, in the test's own process: it keeps what is retained, and does what a test says. */
export class FakeBroker {
  /** What is retained now, by topic. */
  readonly retained = new Map<string, string>();
  /** All that came, in order. */
  readonly messages: { topic: string; payload: string }[] = [];
  readonly subscriptions: string[] = [];
  readonly hellos: IConnectPacket[] = [];
  /** The return code that clients get; null for none. */
  answer: number | null = 0;
  /** What nobody may subscribe to. */
  forbidden: string | null = null;
  private readonly clients: Socket[] = [];

  private constructor(private readonly server: Server) {}

  /** With a certificate, it speaks TLS. */
  static async start(port = 0, certificate?: { cert: Buffer; key: Buffer }): Promise<FakeBroker> {
    const server = certificate === undefined ? createServer() : createTlsServer(certificate);
    const broker = new FakeBroker(server);
    server.on(certificate === undefined ? "connection" : "secureConnection", (socket) =>
      broker.greet(socket),
    );
    server.on("tlsClientError", () => {});
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    return broker;
  }

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  /** The JSON that is retained in a topic. */
  // biome-ignore lint/suspicious/noExplicitAny: what was published is for the test to judge
  json(topic: string): any {
    return JSON.parse(this.retained.get(topic) ?? "null");
  }

  publish(topic: string, payload: string | Buffer, retain = false): void {
    this.raw(generate({ cmd: "publish", topic, payload, retain, qos: 0, dup: false }));
  }

  raw(bytes: Uint8Array): void {
    this.clients.at(-1)?.write(bytes);
  }

  /** Loses the connection, as a broker that is killed does. */
  drop(): void {
    this.clients.at(-1)?.destroy();
  }

  /** Neither reads nor answers. */
  pause(): void {
    this.clients.at(-1)?.pause();
  }

  async stop(): Promise<void> {
    for (const client of this.clients) client.destroy();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private greet(socket: Socket): void {
    this.clients.push(socket);
    const reader = parser();
    reader.on("error", () => socket.destroy());
    reader.on("packet", (packet) => this.handle(socket, packet));
    socket.on("data", (chunk) => reader.parse(Buffer.from(chunk)));
    socket.on("error", () => {});
  }

  private handle(socket: Socket, packet: Packet): void {
    switch (packet.cmd) {
      case "connect":
        this.hellos.push(packet);
        if (this.answer !== null)
          socket.write(generate({ cmd: "connack", returnCode: this.answer, sessionPresent: false }));
        break;
      case "subscribe":
        this.subscriptions.push(...packet.subscriptions.map(({ topic }) => topic));
        socket.write(
          generate({
            cmd: "suback",
            messageId: packet.messageId ?? 1,
            granted: packet.subscriptions.map(({ topic }) => (topic === this.forbidden ? 128 : 0)),
          }),
        );
        break;
      case "publish": {
        const { topic, payload } = packet;
        this.messages.push({ topic, payload: payload.toString() });
        if (payload.length === 0) this.retained.delete(topic);
        else this.retained.set(topic, payload.toString());
        break;
      }
      case "pingreq":
        socket.write(generate({ cmd: "pingresp" }));
        break;
      default:
    }
  }
}
