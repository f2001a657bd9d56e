import type { Socket, TCPSocketConnectOptions } from "bun";
import { inNamespace } from "./namespace.ts";

const LOOPBACK = "127.0.0.1";

/** One side of a connection. */
interface Side {
  other: Socket<Side> | null;
  /** What the other side has not taken yet; this side is paused meanwhile. */
  waiting: Uint8Array | null;
  /** This side sends nothing more. */
  ended: boolean;
}

type Handler = Bun.SocketHandler<Side>;

/**
 * Makes a port of a namespace's loopback a port of this machine's loopback. A client is seen inside with its own
 * address of loopback, so that each has rate limits of its own.
 */
export class Relay {
  private constructor(private readonly listener: Bun.TCPSocketListener<Side>) {}

  /** The same port outside as inside; throws if it is in use. */
  static start(netns: string, port: number): Relay {
    const open = (client: Socket<Side>) => {
      client.data = { other: null, waiting: null, ended: false };
      client.pause();
      connect(netns, port, client).catch(() => client.terminate());
    };
    const listener = Bun.listen<Side>({
      hostname: LOOPBACK,
      port,
      allowHalfOpen: true,
      socket: { ...HANDLER, open },
    });
    return new Relay(listener);
  }

  stop(): void {
    this.listener.stop(true);
  }
}

async function connect(netns: string, port: number, client: Socket<Side>): Promise<void> {
  const options = {
    ...{ hostname: LOOPBACK, port, allowHalfOpen: true, localAddress: client.remoteAddress },
    data: { other: client, waiting: null, ended: false },
    socket: HANDLER,
  } satisfies TCPSocketConnectOptions<Side> & { localAddress: string };
  const server = await inNamespace(netns, () => Bun.connect<Side>(options));
  if (client.readyState <= 0) return server.terminate();
  client.data.other = server;
  client.resume();
}

const HANDLER: Handler = {
  data: (from, chunk) => {
    const { other } = from.data;
    const sent = other?.write(chunk) ?? 0;
    if (sent === chunk.length) return;
    from.data.waiting = Uint8Array.from(chunk.subarray(Math.max(0, sent)));
    from.pause();
  },
  drain: (to) => {
    const from = to.data.other;
    if (from?.data.waiting) pass(from, to);
  },
  end: (from) => {
    from.data.ended = true;
    if (from.data.waiting === null) from.data.other?.shutdown();
  },
  close: (side) => {
    const { other, waiting } = side.data;
    // What has come in before the end still goes out.
    if (other !== null && waiting === null) other.end();
    side.data.ended = true;
  },
  error: (side) => void side.data.other?.terminate(),
};

/** Sends what has waited, and the end behind it. */
function pass(from: Socket<Side>, to: Socket<Side>): void {
  const { waiting, ended } = from.data;
  if (waiting === null) return;
  const sent = Math.max(0, to.write(waiting));
  from.data.waiting = sent === waiting.length ? null : waiting.subarray(sent);
  if (from.data.waiting !== null) return;
  if (ended) to.end();
  else from.resume();
}
