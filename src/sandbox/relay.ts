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

/** A place to listen or to connect. Without a namespace it is in this process's own. */
interface Place {
  netns: string | null;
  hostname: string;
  port: number;
}

interface Ways {
  from: Place;
  to: Place;
  /** The address of loopback that a client is seen with, so that each has rate limits of its own. */
  as: (client: string) => string;
  /** More connections at once end at once. */
  most: number;
}

/** Passes on what comes to a port of one network namespace, to a port of another one. */
export class Relay {
  private constructor(private readonly listener: Bun.TCPSocketListener<Side>) {}

  /** A port of a namespace's loopback is the same one of this machine's loopback; throws if it is in use. */
  static start(netns: string, port: number): Relay {
    const place = { hostname: LOOPBACK, port };
    return Relay.between({
      from: { ...place, netns: null },
      to: { ...place, netns },
      as: (client) => client,
      most: Number.POSITIVE_INFINITY,
    });
  }

  static between(ways: Ways): Relay {
    let count = 0;
    const close = (side: Socket<Side>) => {
      count -= 1;
      HANDLER.close?.(side);
    };
    const open = (client: Socket<Side>) => {
      count += 1;
      client.data = { other: null, waiting: null, ended: false };
      if (count > ways.most) return void client.terminate();
      client.pause();
      connect(ways, client).catch(() => client.terminate());
    };
    const { netns, hostname, port } = ways.from;
    const listener = within(netns, () =>
      Bun.listen<Side>({
        ...{ hostname, port, allowHalfOpen: true },
        socket: { ...HANDLER, open, close },
      }),
    );
    return new Relay(listener);
  }

  stop(): void {
    this.listener.stop(true);
  }
}

async function connect({ to, as }: Ways, client: Socket<Side>): Promise<void> {
  const { netns, hostname, port } = to;
  const options = {
    ...{ hostname, port, allowHalfOpen: true, localAddress: as(client.remoteAddress) },
    data: { other: client, waiting: null, ended: false },
    socket: HANDLER,
  } satisfies TCPSocketConnectOptions<Side> & { localAddress: string };
  const server = await within(netns, () => Bun.connect<Side>(options));
  if (client.readyState <= 0) return server.terminate();
  client.data.other = server;
  client.resume();
}

function within<T>(netns: string | null, open: () => T): T {
  return netns === null ? open() : inNamespace(netns, open);
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
