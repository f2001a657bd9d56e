import type { Tokens } from "../access/tokens.ts";
import { checkerOf } from "../base/checker.ts";
import { Shares } from "../base/shares.ts";
import type { Status } from "../tunnel/schema.ts";
import { describe, type Fault } from "./errors.ts";
import { EventMessage } from "./event.ts";
import { messageOf } from "./messages.ts";
import type { TrafficUpdate } from "./traffic.ts";

/** More than a home has screens; with the backlog it bounds the memory that sockets take. One client alone gets a hundred. */
const MAX_SOCKETS = 1_000;
/** Some 60 messages beyond what the kernel buffers; a socket that is further behind is closed. */
const MAX_BACKLOG_BYTES = 32_768;
/** Clients have no messages to send; a ping has at most 125 bytes (RFC 6455, section 5.5). */
const MAX_MESSAGE_BYTES = 1_024;
/** A socket that is silent for almost this long is pinged, and closed if no answer comes. */
const IDLE_SECONDS = 60;

/** Close codes of RFC 6455, section 7.4.1. */
const CLOSE = { goingAway: 1001, policyViolation: 1008, internalError: 1011 };

const TOPIC = "events";
/** Counts the sockets that asked for it. */
const TRAFFIC_TOPIC = "traffic";

const eventSchema = checkerOf(EventMessage);

/** What Bun keeps with each socket: its client, as `Clients` names it. */
export interface SocketData {
  client: string;
  /** Whether it gets the event `traffic`. */
  traffic: boolean;
  /** The id of the token that it was opened with; null if none was needed. */
  token: string | null;
}
type Socket = Bun.ServerWebSocket<SocketData>;
type Publisher = Pick<Bun.Server<unknown>, "publish">;

/** What the sockets send. */
interface Source {
  status(): Promise<Status>;
  /** Calls the listener with each message, in order, until `signal` aborts. */
  follow(listener: (message: EventMessage) => void, signal: AbortSignal): void;
  /** Calls the listener every second with what tunnels and devices have carried, until the returned function is called. */
  followTraffic(listener: (update: TrafficUpdate) => void): () => void;
}

/** The open sockets of `/ws`. A message is serialized once, and Bun sends it to all of them natively. */
export class EventSockets {
  private readonly sockets = new Set<Socket>();
  private readonly places = new Shares(MAX_SOCKETS);
  /** The number of status changes sent so far. */
  private changes = 0;
  /** The reading of the status for sockets that have just opened; those that open during it share it. */
  private reading: Promise<string> | null = null;
  /** Aborts when no socket is open. */
  private listening = new AbortController();
  /** How many get the traffic, which is read only while there are any. */
  private followers = 0;
  private unfollow = () => {};
  /** Those to which the sockets are connected; a message reaches the sockets of each. */
  private readonly servers = new Set<Publisher>();

  constructor(
    private readonly source: Source,
    private readonly fault: Fault,
    private readonly tokens: Pick<Tokens, "has" | "onRemoved">,
  ) {
    tokens.onRemoved((id) => {
      for (const socket of this.sockets) if (socket.data.token === id) closeRemoved(socket);
    });
  }

  /** For `Bun.serve`; the limits hold for every socket of the server. */
  readonly handlers: Bun.WebSocketHandler<SocketData> = {
    idleTimeout: IDLE_SECONDS,
    sendPings: true,
    maxPayloadLength: MAX_MESSAGE_BYTES,
    backpressureLimit: MAX_BACKLOG_BYTES,
    closeOnBackpressureLimit: true,
    open: (socket) => this.opened(socket),
    message: (socket) => socket.close(CLOSE.policyViolation, "this socket only sends"),
    close: (socket) => this.closed(socket),
  };

  /** Why a client gets no more socket: it has its share, or there is none left for anyone; null if it gets one. */
  refusalFor(client: string): "client" | "all" | null {
    if (this.places.has(client)) return null;
    return this.places.of(client) > 0 ? "client" : "all";
  }

  /** From now on the gateway's events are sent to the open sockets of this server. */
  start(server: Publisher): void {
    this.servers.add(server);
  }

  /** The server has no sockets any more. */
  end(server: Publisher): void {
    this.servers.delete(server);
  }

  stop(): void {
    this.listening.abort();
    this.unfollow();
    for (const socket of this.sockets) socket.close(CLOSE.goingAway, "the gateway stops");
  }

  /** Subscribes while sockets are open: without listeners the gateway saves the work for its events. */
  private listen(): void {
    this.listening = new AbortController();
    this.source.follow((message) => this.orReport(() => this.broadcast(message)), this.listening.signal);
  }

  private follow(): void {
    this.unfollow = this.source.followTraffic((payload) =>
      this.orReport(() => this.publish(TRAFFIC_TOPIC, textOf(messageOf({ type: "traffic", payload })))),
    );
  }

  /** The event has already happened, so a failure to send it must not reach the gateway. */
  private orReport(send: () => void): void {
    try {
      send();
    } catch (error) {
      this.fault(`/ws: ${describe(error)}`);
    }
  }

  private broadcast(message: EventMessage): void {
    const text = textOf(message);
    if (message.type === "status_change") {
      this.changes++;
      this.reading = null;
    }
    this.publish(TOPIC, text);
  }

  private publish(topic: string, text: string): void {
    for (const server of this.servers) server.publish(topic, text);
  }

  private opened(socket: Socket): void {
    const { client, traffic, token } = socket.data;
    // Removed since it was looked at.
    if (token !== null && !this.tokens.has(token)) {
      closeRemoved(socket);
      return;
    }
    if (!this.places.take(client)) {
      socket.close(CLOSE.policyViolation, "this client has too many sockets");
      return;
    }
    if (this.sockets.size === 0) this.listen();
    this.sockets.add(socket);
    // Before the status is read, so that no change is missed.
    socket.subscribe(TOPIC);
    if (traffic) {
      socket.subscribe(TRAFFIC_TOPIC);
      if (this.followers++ === 0) this.follow();
    }
    void this.sendStatus(socket);
  }

  private closed(socket: Socket): void {
    if (!this.sockets.delete(socket)) return;
    if (this.sockets.size === 0) this.listening.abort();
    const { client, traffic } = socket.data;
    if (traffic && --this.followers === 0) this.unfollow();
    this.places.give(client);
  }

  private async sendStatus(socket: Socket): Promise<void> {
    const before = this.changes;
    const text = await this.status().catch(() => null);
    if (!this.sockets.has(socket)) return;
    if (text === null) socket.close(CLOSE.internalError, "the status cannot be read");
    // A change during the reading is newer than what was read, and this socket has received it.
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
      return textOf(messageOf({ type: "status_change", payload: await this.source.status() }));
    } catch (error) {
      this.fault(`/ws: ${describe(error)}`);
      throw error;
    }
  }
}

function closeRemoved(socket: Socket): void {
  socket.close(CLOSE.policyViolation, "the token was removed");
}

/** Like an answer, a message is validated before it is sent. */
function textOf(message: EventMessage): string {
  if (!eventSchema.Check(message)) throw new Error(`a ${message.type} does not fit its schema`);
  return JSON.stringify(message);
}
