import { Compile } from "typebox/compile";
import { describe, type Fault } from "./errors.ts";
import { GatewayEvent } from "./event.ts";
import type { Gateway } from "./gateway.ts";

/** More than a home has screens; together with the backlog it bounds what they can hold of the memory. */
const MAX_SOCKETS = 1_000;
/** One device cannot take all the places. */
const MAX_SOCKETS_PER_CLIENT = 100;
/** Some 60 messages beyond what the kernel buffers: who is further behind is closed. */
const MAX_BACKLOG_BYTES = 32_768;
/** No client has anything to say; a ping's own limit is 125 bytes (RFC 6455, section 5.5). */
const MAX_MESSAGE_BYTES = 1_024;
/** Whoever is silent for this long is pinged before it ends, and closed if nothing comes back. */
const IDLE_SECONDS = 60;

/** Close codes of RFC 6455, section 7.4.1. */
const CLOSE = { goingAway: 1001, policyViolation: 1008, internalError: 1011 };

const TOPIC = "events";

const eventSchema = Compile(GatewayEvent);

/** What a socket remembers: whose place it takes, in the words of `clientOf`. */
export interface Seat {
  client: string;
}
type Socket = Bun.ServerWebSocket<Seat>;

/** All who listen at `/ws`. A message is written out once and handed to Bun, which spreads it natively. */
export class EventSockets {
  private readonly sockets = new Set<Socket>();
  private readonly seats = new Map<string, number>();
  /** How many changes of the status were told so far. */
  private changes = 0;
  /** The status on its way to those who have just come; a crowd that comes at once shares one reading. */
  private reading: Promise<string> | null = null;
  private leaveGateway = () => {};
  private server: Pick<Bun.Server<unknown>, "publish"> | null = null;

  constructor(
    private readonly gateway: Pick<Gateway, "status" | "subscribe">,
    private readonly fault: Fault,
  ) {}

  /** For `Bun.serve`; the limits hold for every socket of the server. */
  readonly handlers: Bun.WebSocketHandler<Seat> = {
    idleTimeout: IDLE_SECONDS,
    sendPings: true,
    maxPayloadLength: MAX_MESSAGE_BYTES,
    backpressureLimit: MAX_BACKLOG_BYTES,
    closeOnBackpressureLimit: true,
    open: (socket) => this.enter(socket),
    message: (socket) => socket.close(CLOSE.policyViolation, "this socket only sends"),
    close: (socket) => this.leave(socket),
  };

  /** Why there is no place for one more socket of a client, or null. */
  refusalFor(client: string): "client" | "all" | null {
    if (this.sockets.size >= MAX_SOCKETS) return "all";
    return (this.seats.get(client) ?? 0) >= MAX_SOCKETS_PER_CLIENT ? "client" : null;
  }

  /** From here on the events of the gateway go to those who listen. */
  start(server: Pick<Bun.Server<unknown>, "publish">): void {
    this.server = server;
  }

  stop(): void {
    this.leaveGateway();
    for (const socket of this.sockets) socket.close(CLOSE.goingAway, "the gateway stops");
  }

  /** While somebody is there: what nobody hears the gateway need not find out. */
  private listen(): void {
    this.leaveGateway = this.gateway.subscribe((event) => {
      try {
        this.tell(event);
      } catch (error) {
        // The gateway has done what it tells of; it is not undone because nobody hears of it.
        this.fault(`/ws: ${describe(error)}`);
      }
    });
  }

  private tell(event: GatewayEvent): void {
    const text = textOf(event);
    if (event.type === "status_change") {
      this.changes++;
      this.reading = null;
    }
    this.server?.publish(TOPIC, text);
  }

  private enter(socket: Socket): void {
    const { client } = socket.data;
    if (this.sockets.size === 0) this.listen();
    this.sockets.add(socket);
    this.seats.set(client, (this.seats.get(client) ?? 0) + 1);
    // Before the status is read, so that no change falls between.
    socket.subscribe(TOPIC);
    void this.greet(socket);
  }

  private leave(socket: Socket): void {
    if (!this.sockets.delete(socket)) return;
    if (this.sockets.size === 0) this.leaveGateway();
    const { client } = socket.data;
    const rest = (this.seats.get(client) ?? 0) - 1;
    if (rest > 0) this.seats.set(client, rest);
    else this.seats.delete(client);
  }

  private async greet(socket: Socket): Promise<void> {
    const before = this.changes;
    const text = await this.status().catch(() => null);
    if (!this.sockets.has(socket)) return;
    if (text === null) socket.close(CLOSE.internalError, "the status cannot be read");
    // A change that came meanwhile is newer than what was read, and this socket has got it.
    else if (this.changes === before) socket.send(text);
  }

  private status(): Promise<string> {
    if (this.reading !== null) return this.reading;
    const reading = this.readStatus().finally(() => {
      if (this.reading === reading) this.reading = null;
    });
    this.reading = reading;
    return reading;
  }

  private async readStatus(): Promise<string> {
    try {
      return textOf({ type: "status_change", payload: await this.gateway.status() });
    } catch (error) {
      this.fault(`/ws: ${describe(error)}`);
      throw error;
    }
  }
}

/** Like an answer, a message is checked before it leaves. */
function textOf(event: GatewayEvent): string {
  if (!eventSchema.Check(event)) throw new Error(`a ${event.type} does not fit its schema`);
  return JSON.stringify(event);
}
