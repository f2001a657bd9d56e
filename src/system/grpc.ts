import { ptr } from "bun:ffi";
import { openBoundTcp } from "./bound-socket.ts";
import type { ProcedureCall } from "./host.ts";
import { libc } from "./libc.ts";
import { refused } from "./refusals.ts";

/** From the kernel's headers; the same on ARM and x86. */
const [IPPROTO_TCP, TCP_MAXSEG] = [6, 2];
/** Fits every path (RFC 791: 576 bytes, with the longest headers): that of a new tunnel is not known yet. */
const SEGMENT_BYTES = 576 - 20 - 60;
/** What a server may send in all, with HTTP/2's own frames. Answers are a tenth of that. */
const MAX_BYTES = 16_384;
/** The flag and the length before each message. */
const PREFIX_BYTES = 5;

/** See `Host.call`. The server is at the other end of a tunnel, and may answer anything. */
export async function call(call: ProcedureCall, signal?: AbortSignal): Promise<Uint8Array> {
  const { link, mark, address, port, path, message, withinMs } = call;
  signal?.throwIfAborted();
  const place = `${address}:${port}`;
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  // It may be refused before anyone waits for it.
  promise.catch(() => {});
  const refuse = (why: string) => reject(refused("server_call_failed", { server: place, reason: why }));
  const exchange = new Exchange(resolve, refuse, (bytes) => socket.send(bytes));
  const handlers = { onData: (bytes: Uint8Array) => exchange.receive(bytes), onEnd: () => exchange.ended() };
  const socket = await openBoundTcp({ link, mark, peer: { address, port } }, handlers, withShortSegments);
  socket.send(requestOf(place, path, message));
  const timer = setTimeout(() => {
    reject(refused("server_call_late", { server: place, seconds: withinMs / 1000 }));
  }, withinMs);
  const stop = () => reject(signal?.reason);
  signal?.addEventListener("abort", stop, { once: true });
  // Nothing tells of an abort that came while the socket was made.
  if (signal?.aborted) stop();
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
    socket.close();
  }
}

function withShortSegments(fd: number): boolean {
  const bytes = Buffer.from(Int32Array.of(SEGMENT_BYTES).buffer);
  return libc().setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, ptr(bytes), bytes.length) === 0;
}

/** Frames of HTTP/2 (RFC 9113, section 6). */
const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const HEAD_BYTES = 9;
/** Flags; each has a meaning for some frames only. */
const [ACK, END_STREAM, END_HEADERS, PADDED] = [0x1, 0x1, 0x4, 0x8];
/** The only request has the first number that a client may use. */
const STREAM = 1;
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** All that is sent for a request. */
function requestOf(authority: string, path: string, message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([
    Buffer.from(PREFACE),
    frame(SETTINGS, 0, 0, Buffer.alloc(0)),
    frame(HEADERS, END_HEADERS, STREAM, headersOf(authority, path)),
    frame(DATA, END_STREAM, STREAM, Buffer.concat([prefix, message])),
  ]);
}

/**
 * The header fields of a request by gRPC, without the table of earlier ones (RFC 7541): the first two stand in the
 * static table, as do the names of the next three.
 */
function headersOf(authority: string, path: string): Buffer {
  const text = (value: string) => [value.length, ...Buffer.from(value)];
  const fields = [
    [0x83],
    [0x86],
    [0x04, ...text(path)],
    [0x01, ...text(authority)],
    [0x0f, 31 - 15, ...text("application/grpc")],
    [0x00, ...text("te"), ...text("trailers")],
  ];
  return Buffer.from(fields.flat());
}

/**
 * One request over HTTP/2, as far as its answer needs it. Header fields of the answer are not read: a refusal has no
 * message, and what is no message is refused. Bun's own client takes 20 MiB, and a quarter of a second to load.
 */
class Exchange {
  private left: Buffer = Buffer.alloc(0);
  private body: Buffer = Buffer.alloc(0);
  private received = 0;

  constructor(
    private readonly answer: (message: Uint8Array) => void,
    private readonly refuse: (why: string) => void,
    private readonly send: (bytes: Uint8Array) => void,
  ) {}

  receive(bytes: Uint8Array): void {
    this.received += bytes.length;
    if (this.received > MAX_BYTES) this.refuse("sends too much");
    else this.read(Buffer.concat([this.left, bytes]));
  }

  private read(bytes: Buffer): void {
    this.left = bytes;
    while (this.left.length >= HEAD_BYTES) {
      const end = HEAD_BYTES + this.left.readUIntBE(0, 3);
      // One that is longer than all that may come is not waited for.
      if (end > MAX_BYTES) this.refuse("sends too much");
      if (this.left.length < end) return;
      const [type = 0, flags = 0] = this.left.subarray(3, 5);
      const stream = this.left.readUInt32BE(5) & 0x7fff_ffff;
      this.take(type, flags, stream, this.left.subarray(HEAD_BYTES, end));
      this.left = this.left.subarray(end);
    }
  }

  ended(): void {
    this.refuse(this.received === 0 ? "takes no connections" : "ended the connection");
  }

  private take(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === SETTINGS && !(flags & ACK)) this.send(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
    if (type === PING && !(flags & ACK)) this.send(frame(PING, ACK, 0, payload));
    if (type === GOAWAY) this.refuse("ended the connection");
    if (stream !== STREAM) return;
    if (type === RST_STREAM) this.refuse("refused the request");
    if (type === DATA) this.body = Buffer.concat([this.body, flags & PADDED ? unpadded(payload) : payload]);
    if ((type === DATA || type === HEADERS) && flags & END_STREAM) this.finish();
  }

  private finish(): void {
    const message = onlyMessage(this.body);
    if (message !== null) this.answer(message);
    else this.refuse(this.body.length === 0 ? "refused the request" : "gave an answer that is none");
  }
}

function unpadded(payload: Buffer): Buffer {
  return payload.subarray(1, Math.max(1, payload.length - (payload[0] ?? 0)));
}

/** Null unless there is exactly one, which is not compressed. */
function onlyMessage(bytes: Buffer): Uint8Array | null {
  if (bytes.length < PREFIX_BYTES || bytes[0] !== 0) return null;
  const message = bytes.subarray(PREFIX_BYTES);
  return message.length === bytes.readUInt32BE(1) ? Uint8Array.from(message) : null;
}
