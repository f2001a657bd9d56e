import type { BoundSocket, SocketHandlers } from "../system/bound-socket.ts";

/** A socket asks this many times. Then another one follows, from another port. */
const MAX_QUERIES_OF_SOCKET = 64;
/** Sockets without a query are closed after this long. */
const IDLE_MS = 10_000;
const ID_BYTES = 2;

/** A query that waits for its answer. */
export interface Pending {
  query: Uint8Array;
  /** Called with each message that has its id. */
  hear: (message: Uint8Array) => void;
  /** Called if it could not be sent, or nobody listens there. */
  fail: () => void;
}

/** One source port, and the queries that it waits for. */
export class QuerySocket {
  private readonly pending = new Map<number, Pending>();
  private left = MAX_QUERIES_OF_SOCKET;
  private isUsed = true;
  private readonly idle: ReturnType<typeof setInterval>;

  private constructor(
    private readonly socket: { current: BoundSocket | null },
    /** Called when nobody is to use it any more. */
    private readonly leave: () => void,
  ) {
    this.idle = setInterval(() => this.lookIdle(), IDLE_MS);
  }

  static async open(
    open: (handlers: SocketHandlers) => Promise<BoundSocket>,
    leave: () => void,
  ): Promise<QuerySocket> {
    const socket: { current: BoundSocket | null } = { current: null };
    const asking = new QuerySocket(socket, leave);
    try {
      socket.current = await open({ onData: (bytes) => asking.hear(bytes), onEnd: () => asking.fail() });
      return asking;
    } catch (error) {
      asking.close();
      throw error;
    }
  }

  ask(pending: Pending): void {
    this.isUsed = true;
    this.left -= 1;
    if (this.left <= 0) this.leave();
    this.pending.set(idOf(pending.query), pending);
    if (this.socket.current?.send(pending.query) !== true) pending.fail();
  }

  forget(pending: Pending): void {
    const id = idOf(pending.query);
    if (this.pending.get(id) === pending) this.pending.delete(id);
    if (this.left <= 0 && this.pending.size === 0) this.close();
  }

  close(): void {
    clearInterval(this.idle);
    this.leave();
    this.socket.current?.close();
    this.socket.current = null;
    this.fail();
  }

  private hear(message: Uint8Array): void {
    if (message.length >= ID_BYTES) this.pending.get(idOf(message))?.hear(message);
  }

  private fail(): void {
    for (const pending of this.pending.values()) pending.fail();
  }

  private lookIdle(): void {
    if (!this.isUsed && this.pending.size === 0) this.close();
    this.isUsed = false;
  }
}

function idOf(message: Uint8Array): number {
  return ((message[0] ?? 0) << 8) | (message[1] ?? 0);
}
