import { messageOf } from "../../base/errors.ts";
import { connectingTcp } from "../bound-socket.ts";
import type { Downloaded, SpeedPlace } from "../host.ts";
import { refused } from "../refusals.ts";
import { AnswerHead } from "./answer-head.ts";

/** Longest wait for a connection to one address, TLS included, before the next one is tried. */
const CONNECT_TIMEOUT_MS = 5_000;
/** A connection that is silent for this long is dead. The whole head has to come within this time. */
const STALLED_AFTER_MS = 5_000;
/** How often the progress is reported. */
const TOLD_EVERY_MS = 250;
/** A lower rate would measure the server more than the path. */
const LEAST = { bytes: 100_000, ms: 20 };
const HTTPS_PORT = 443;

export type OnBytes = (bytes: number, ms: number) => void;

/** A connection of TLS whose other end has proven its name. */
interface Secured {
  socket: Bun.Socket<undefined>;
  /** Gets what comes from then on, and why it has ended; null if the server has closed it. */
  listen: (onData: (bytes: Uint8Array) => void, onEnd: (why: Error | null) => void) => void;
}

/**
 * Downloads from one of the addresses by one link only, and keeps nothing of it. What came in the first piece is not
 * counted: how long it took is not known. Throws `GatewayError("unable")`.
 */
export async function download(place: SpeedPlace, onBytes: OnBytes): Promise<Downloaded> {
  const { host } = new URL(place.url);
  try {
    return await exchange(await connected(place), place, onBytes);
  } catch (error) {
    throw refused("download_failed", { host, reason: messageOf(error) }, { cause: error });
  }
}

async function connected(place: SpeedPlace): Promise<Secured> {
  let fault: unknown = new Error("it has no address");
  for (const address of place.addresses) {
    try {
      return await secured(place, address);
    } catch (error) {
      fault = error;
    }
  }
  throw fault;
}

async function secured({ link, mark, url }: SpeedPlace, address: string): Promise<Secured> {
  const { hostname, port } = new URL(url);
  const name = hostname.replace(/^\[|\]$/g, "");
  const peer = { address, port: port === "" ? HTTPS_PORT : Number(port) };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let hear: (bytes: Uint8Array) => void = () => {};
  let end: (why: Error | null) => void = () => reject(new Error("the connection was refused or closed"));
  const socket: Bun.Socket<undefined> = await Bun.connect({
    fd: connectingTcp({ link, mark, peer }),
    tls: { serverName: name, rejectUnauthorized: true },
    socket: {
      handshake: (_: unknown, isProven: boolean, fault: Error | null) =>
        isProven ? resolve() : reject(new Error(`its certificate is not accepted: ${messageOf(fault)}`)),
      data: (_: unknown, bytes: Uint8Array) => hear(bytes),
      close: () => end(null),
      error: (_: unknown, error: Error) => end(error),
      connectError: (_: unknown, error: Error) => end(error),
    },
  } as unknown as Bun.TCPSocketConnectOptions<undefined>);
  const timer = setTimeout(() => reject(new Error("it does not answer")), CONNECT_TIMEOUT_MS);
  try {
    await promise;
  } catch (error) {
    socket.terminate();
    throw error;
  } finally {
    clearTimeout(timer);
  }
  return {
    socket,
    listen: (onData, onEnd) => {
      hear = onData;
      end = onEnd;
    },
  };
}

/** Asks, and measures what comes. */
export async function exchange(
  { socket, listen }: Secured,
  place: SpeedPlace,
  onBytes: OnBytes,
): Promise<Downloaded> {
  const { promise, resolve, reject } = Promise.withResolvers<Downloaded>();
  const body = new Body(place.mostBytes);
  const head = new AnswerHead();
  const finish = () => {
    const { downloaded } = body;
    if (downloaded.bytes >= LEAST.bytes && downloaded.ms >= LEAST.ms) resolve(downloaded);
    else reject(new Error("too little comes from there to tell a rate; name a larger file"));
  };
  const stalled = setTimeout(() => {
    const what = head.isRead ? "nothing has come for" : "its answer has not begun within";
    reject(new Error(`${what} ${STALLED_AFTER_MS / 1_000} s`));
  }, STALLED_AFTER_MS);
  const telling = setInterval(() => onBytes(body.downloaded.bytes, body.downloaded.ms), TOLD_EVERY_MS);
  let over: ReturnType<typeof setTimeout> | undefined;
  const hear = (bytes: Uint8Array) => {
    const rest = head.isRead ? bytes : head.read(bytes);
    if (rest === null) return;
    stalled.refresh();
    over ??= setTimeout(finish, place.mostMs);
    body.add(rest.length);
    if (body.isFull || body.received >= (head.length ?? Number.POSITIVE_INFINITY)) finish();
  };
  listen(
    (bytes) => {
      try {
        hear(bytes);
      } catch (error) {
        reject(error);
      }
    },
    (why) => {
      if (why !== null) reject(why);
      else if (!head.isRead || head.length !== null) reject(new Error("the connection was closed too early"));
      else finish();
    },
  );
  socket.write(requestFor(place.url));
  try {
    return await promise;
  } finally {
    clearTimeout(stalled);
    clearTimeout(over);
    clearInterval(telling);
    socket.terminate();
  }
}

/** What has come of a body, of which nothing is kept. */
class Body {
  received = 0;
  private first: { at: number; bytes: number } | null = null;
  private lastAt = 0;

  constructor(private readonly mostBytes: number) {}

  add(bytes: number): void {
    this.lastAt = performance.now();
    this.received += bytes;
    if (bytes > 0) this.first ??= { at: this.lastAt, bytes };
  }

  get isFull(): boolean {
    return this.received >= this.mostBytes;
  }

  get downloaded(): Downloaded {
    if (this.first === null) return { bytes: 0, ms: 0 };
    return { bytes: this.received - this.first.bytes, ms: this.lastAt - this.first.at };
  }
}

function requestFor(url: string): string {
  const { host, pathname, search } = new URL(url);
  return [
    `GET ${pathname}${search} HTTP/1.1`,
    `Host: ${host}`,
    "Accept: */*",
    // What is compressed would seem slower than it is.
    "Accept-Encoding: identity",
    "Connection: close",
    "\r\n",
  ].join("\r\n");
}
