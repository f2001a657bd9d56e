import { ptr } from "bun:ffi";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
} from "node:http2";
import { Duplex } from "node:stream";
import { GatewayError } from "../base/errors.ts";
import { connectingTcp, type Way } from "./bound-socket.ts";
import type { ProcedureCall } from "./host.ts";
import { libc } from "./libc.ts";

type TcpSocket = Bun.Socket<undefined>;

/** From the kernel's headers; the same on ARM and x86. */
const [IPPROTO_TCP, TCP_MAXSEG] = [6, 2];
/** Fits every path (RFC 791: 576 bytes, with the longest headers): that of a new tunnel is not known yet. */
const SEGMENT_BYTES = 576 - 20 - 60;
/** What a server may send in all, with HTTP/2's own frames. Answers are a tenth of that. */
const MOST_BYTES = 16_384;
/** The flag and the length before each message. */
const PREFIX_BYTES = 5;
const OK = 0;

/** See `Host.call`. The server is at the other end of a tunnel, and may answer anything. */
export async function call(call: ProcedureCall, signal?: AbortSignal): Promise<Uint8Array> {
  const { link, mark, address, port, path, message, withinMs } = call;
  signal?.throwIfAborted();
  const place = `${address}:${port}`;
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  // It may be refused before anyone waits for it.
  promise.catch(() => {});
  const refuse = (why: string) => reject(new GatewayError("unable", `${place} ${why}`));
  const connection = await Connection.open({ link, mark, peer: { address, port } }, refuse);
  const session = connect(`http://${place}`, { createConnection: () => connection });
  session.on("error", () => refuse("ended the connection"));
  const timer = setTimeout(() => {
    reject(new GatewayError("timed_out", `${place} did not answer within ${withinMs / 1000} s`));
  }, withinMs);
  const stop = () => reject(signal?.reason);
  signal?.addEventListener("abort", stop, { once: true });
  try {
    answerOf(requested(session, path, message)).then(resolve, refuse);
    return await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
    session.destroy();
    connection.destroy();
  }
}

function requested(session: ClientHttp2Session, path: string, message: Uint8Array): ClientHttp2Stream {
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
  });
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  stream.end(Buffer.concat([prefix, message]));
  return stream;
}

/** Rejects with what the server did instead of answering. */
function answerOf(stream: ClientHttp2Stream): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const parts: Buffer[] = [];
  let status: number | null = null;
  const read = (headers: IncomingHttpHeaders) => {
    status = statusIn(headers) ?? status;
  };
  stream.on("response", (headers) => {
    if (headers[":status"] !== 200)
      return reject(`answered with status ${Number(headers[":status"])} of HTTP`);
    read(headers);
  });
  stream.on("trailers", read);
  stream.on("data", (part: Buffer) => void parts.push(part));
  stream.on("error", () => reject("ended the request"));
  stream.on("close", () => reject("ended the request"));
  stream.on("end", () => {
    if (status !== OK)
      return reject(`refused with ${status === null ? "no status" : `status ${status}`} of gRPC`);
    const message = onlyMessage(Buffer.concat(parts));
    if (message === null) reject("gave an answer that is none");
    else resolve(message);
  });
  return promise;
}

function statusIn(headers: IncomingHttpHeaders): number | null {
  const status = headers["grpc-status"];
  return typeof status === "string" && /^[0-9]{1,3}$/.test(status) ? Number(status) : null;
}

/** Null unless there is exactly one, which is not compressed. */
function onlyMessage(bytes: Buffer): Uint8Array | null {
  if (bytes.length < PREFIX_BYTES || bytes[0] !== 0) return null;
  const message = bytes.subarray(PREFIX_BYTES);
  return message.length === bytes.readUInt32BE(1) ? Uint8Array.from(message) : null;
}

/** A socket that is bound to a way, as a stream for HTTP/2. */
class Connection extends Duplex {
  private socket: TcpSocket | null = null;
  private received = 0;
  /** What waits until the socket can be written to: the first time, it is connected. */
  private waiting: { bytes: Uint8Array; done: (error?: Error | null) => void } | null = null;
  private isConnected = false;

  private constructor(private readonly refuse: (why: string) => void) {
    super();
    // The one who reads the stream is told as well.
    this.on("error", () => {});
  }

  static async open(way: Way, refuse: (why: string) => void): Promise<Connection> {
    const connection = new Connection(refuse);
    const end = () => connection.ended();
    connection.socket = await Bun.connect({
      fd: connectingTcp(way, withShortSegments),
      socket: {
        data: (_: TcpSocket, bytes: Uint8Array) => connection.receive(bytes),
        drain: () => connection.drained(),
        close: end,
        error: end,
        connectError: end,
      },
    } as unknown as Bun.TCPSocketConnectOptions<undefined>);
    return connection;
  }

  private receive(bytes: Uint8Array): void {
    this.received += bytes.length;
    if (this.received <= MOST_BYTES) this.push(Buffer.from(bytes));
    else {
      this.refuse("sends too much");
      this.destroy();
    }
  }

  private ended(): void {
    this.refuse(this.isConnected ? "ended the connection" : "takes no connections");
    this.push(null);
  }

  private drained(): void {
    this.isConnected = true;
    const { waiting } = this;
    this.waiting = null;
    if (waiting !== null) this._write(waiting.bytes, "binary", waiting.done);
  }

  override _read(): void {}

  override _write(bytes: Uint8Array, _: BufferEncoding, done: (error?: Error | null) => void): void {
    const written = this.isConnected ? Math.max(0, this.socket?.write(bytes) ?? 0) : 0;
    if (written === bytes.length) done();
    else this.waiting = { bytes: bytes.subarray(written), done };
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.socket?.terminate();
    done(error);
  }
}

function withShortSegments(fd: number): boolean {
  const bytes = Buffer.from(Int32Array.of(SEGMENT_BYTES).buffer);
  return libc().setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, ptr(bytes), bytes.length) === 0;
}
