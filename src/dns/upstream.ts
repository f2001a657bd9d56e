import type { Address } from "../base/address.ts";
import type { BoundSocket, BoundTo, SocketHandlers } from "../system/bound-socket.ts";
import type { Host } from "../system/host.ts";
import { type Answer, MAX_ANSWER_BYTES } from "./answer.ts";
import { KnownResolver } from "./known-resolver.ts";
import { type Pending, QuerySocket } from "./query-socket.ts";
import type { Question } from "./question.ts";
import { UpstreamQuery } from "./upstream-query.ts";
import { type UpstreamReply, upstreamReplyIn } from "./upstream-reply.ts";

const PORT = 53;
const CONNECTION_MS = 2_500;
/** Bytes of the length that precedes a message over TCP (RFC 1035, section 4.2.2). */
const LENGTH_BYTES = 2;
/** More than all tunnels have. */
const MAX_KNOWN = 256;

/** The resolvers of an exit, and the only way to them. */
export interface ExitResolvers {
  link: string;
  mark: number;
  resolvers: readonly Address[];
}

/** How sockets are opened. Tests open theirs elsewhere. */
export interface Sockets {
  udp: (to: BoundTo, handlers: SocketHandlers) => Promise<BoundSocket>;
  tcp: (to: BoundTo, handlers: SocketHandlers) => Promise<BoundSocket>;
}

/** Asks the resolvers of exits, each by its exit and by no other way. */
export class Upstream {
  private readonly sockets = new Map<string, Promise<QuerySocket>>();
  private readonly known = new Map<string, KnownResolver>();

  constructor(
    private readonly open: Sockets,
    private readonly monotonic = () => performance.now(),
  ) {}

  static on(host: Pick<Host, "boundUdp" | "boundTcp">): Upstream {
    return new Upstream({
      udp: (to, handlers) => host.boundUdp(to, handlers),
      tcp: (to, handlers) => host.boundTcp(to, handlers),
    });
  }

  /** Null if no resolver answers. */
  ask(question: Question, exit: ExitResolvers): Promise<Answer | null> {
    const asking = new UpstreamQuery(question, exit.resolvers, {
      monotonic: this.monotonic,
      known: (address) => this.knownAt(address, exit),
      overUdp: (address, pending) => this.overUdp(address, pending, exit),
      overTcp: (address, query) => this.overTcp(query, wayTo(address, exit)).catch(() => null),
    });
    return asking.run();
  }

  /** Closes all sockets; callers that wait get no answer. */
  close(): void {
    for (const socket of this.sockets.values()) void socket.then((each) => each.close()).catch(() => {});
    this.sockets.clear();
  }

  private knownAt(address: Address, exit: ExitResolvers): KnownResolver {
    const [key, now] = [keyOf(address, exit), this.monotonic()];
    const known = this.known.get(key);
    if (known?.isOld(now) === false) return known;
    this.known.delete(key);
    const created = new KnownResolver(now);
    this.known.set(key, created);
    const [oldest = ""] = this.known.keys();
    if (this.known.size > MAX_KNOWN) this.known.delete(oldest);
    return created;
  }

  private overUdp(address: Address, pending: Pending, exit: ExitResolvers): () => void {
    const socket = this.socketTo(address, exit);
    let isForgotten = false;
    // The kernel refuses to send where no route leads.
    socket.then((each) => isForgotten || each.ask(pending)).catch(() => isForgotten || pending.fail());
    return () => {
      isForgotten = true;
      socket.then((each) => each.forget(pending)).catch(() => {});
    };
  }

  private async overTcp(query: Uint8Array, to: BoundTo): Promise<UpstreamReply | null> {
    const { promise, resolve } = Promise.withResolvers<UpstreamReply | null>();
    let received = Buffer.alloc(0);
    const onData = (bytes: Uint8Array) => {
      received = Buffer.concat([received, bytes]);
      if (received.length < LENGTH_BYTES) return;
      const end = LENGTH_BYTES + received.readUInt16BE();
      if (end > MAX_ANSWER_BYTES) resolve(null);
      else if (received.length >= end) resolve(upstreamReplyIn(received.subarray(LENGTH_BYTES, end), query));
    };
    const timer = setTimeout(() => resolve(null), CONNECTION_MS);
    const socket = await this.open.tcp(to, { onData, onEnd: () => resolve(null) });
    const framed = Buffer.alloc(LENGTH_BYTES + query.length);
    framed.writeUInt16BE(query.length);
    framed.set(query, LENGTH_BYTES);
    if (!socket.send(framed)) resolve(null);
    return promise.finally(() => {
      clearTimeout(timer);
      socket.close();
    });
  }

  private socketTo(address: Address, exit: ExitResolvers): Promise<QuerySocket> {
    const key = keyOf(address, exit);
    const known = this.sockets.get(key);
    if (known !== undefined) return known;
    const leave = () => {
      if (this.sockets.get(key) === opened) this.sockets.delete(key);
    };
    const opened = QuerySocket.open((handlers) => this.open.udp(wayTo(address, exit), handlers), leave);
    this.sockets.set(key, opened);
    opened.catch(leave);
    return opened;
  }
}

function keyOf(address: Address, { link, mark }: ExitResolvers): string {
  return `${link} ${mark} ${address}`;
}

function wayTo(address: Address, { link, mark }: ExitResolvers): BoundTo {
  return { link, mark, peer: { address, port: PORT } };
}
