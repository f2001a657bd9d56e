import { existsSync } from "node:fs";

/** Longest time for a local WireGuard program to answer on its socket. */
const ANSWER_TIMEOUT_MS = 1_000;
/** The end of every answer (wireguard.com/xplatform). */
const END = "\n\n";

/**
 * How long a connection is kept for the next request: longer than between two looks at a tunnel that is in use. The
 * runtime wakes up each second while any connection is open, so one that is rarely used costs more than new ones.
 */
const KEPT_MS = 2_000;

/** The connections that wait for the next request, by the path of the socket. */
const idle = new Map<string, Connection>();
/** When each was last asked, on the monotone clock. There are as many as tunnels can have interfaces. */
const askedAt = new Map<string, number>();

/**
 * Sends a request of WireGuard's cross-platform interface; null if there is no answer. While requests follow each other,
 * the connection is kept for the next one: a new one each time would wake this program twice, for the connection and
 * for the answer.
 */
export async function exchange(path: string, request: string): Promise<string | null> {
  const now = performance.now();
  const isRare = now - (askedAt.get(path) ?? now) > KEPT_MS;
  askedAt.set(path, now);
  const answer = await ask(path, request);
  if (isRare) idle.get(path)?.close();
  return answer;
}

async function ask(path: string, request: string): Promise<string | null> {
  const kept = idle.get(path);
  idle.delete(path);
  // The program may have closed it, or ended.
  const answer = (await kept?.ask(request)) ?? null;
  if (answer !== null || !existsSync(path)) return answer;
  const fresh = await Connection.to(path);
  return (await fresh?.ask(request)) ?? null;
}

/** A connection to the program of one interface, for one request at a time. */
class Connection {
  private socket: Bun.Socket | null = null;
  private text = "";
  private request: PromiseWithResolvers<string | null> | null = null;
  private closing: ReturnType<typeof setTimeout> | undefined;

  private constructor(private readonly path: string) {}

  /** Null if nobody listens there. */
  static async to(path: string): Promise<Connection | null> {
    const connection = new Connection(path);
    const socket = {
      data: (_: Bun.Socket, chunk: Buffer) => connection.take(chunk.toString("utf8")),
      close: () => connection.end(),
      error: () => connection.end(),
    };
    connection.socket = await Bun.connect({ unix: path, socket }).catch(() => null);
    return connection.socket === null ? null : connection;
  }

  async ask(request: string): Promise<string | null> {
    this.request = Promise.withResolvers();
    this.text = "";
    clearTimeout(this.closing);
    const timer = setTimeout(() => this.end(null), ANSWER_TIMEOUT_MS);
    this.socket?.ref();
    if (this.socket === null) this.end();
    else this.socket.write(request);
    const answer = await this.request.promise;
    clearTimeout(timer);
    return answer;
  }

  close(): void {
    this.end(null);
  }

  private take(text: string): void {
    this.text += text;
    if (this.request !== null && !this.text.endsWith(END)) return;
    const { request } = this;
    request?.resolve(this.text);
    this.request = null;
    // It has keys.
    this.text = "";
    // What comes without a request is no answer to the next one, and one connection is enough to keep.
    if (request === null || idle.has(this.path)) this.end();
    else this.keep();
  }

  private keep(): void {
    idle.set(this.path, this);
    this.closing = setTimeout(() => this.close(), KEPT_MS);
    // A command that has its answer may end.
    this.closing.unref();
    this.socket?.unref();
  }

  /** Some programs end an answer by closing the connection. */
  private end(answer: string | null = this.text === "" ? null : this.text): void {
    if (idle.get(this.path) === this) idle.delete(this.path);
    clearTimeout(this.closing);
    const { socket, request } = this;
    this.socket = null;
    this.request = null;
    this.text = "";
    request?.resolve(answer);
    socket?.end();
  }
}
