import type { Address } from "../base/address.ts";
import { type BoundSocket, type Ears, openBoundTcp, openBoundUdp, type Way } from "../system/bound-socket.ts";
import { type Answer, answerIn, MAX_ANSWER_BYTES } from "./answer.ts";
import { type Question, queryFor } from "./question.ts";

const PORT = 53;
/** A query may get lost; the next one goes to the next resolver. */
const REPEAT_AFTER_MS = [600, 1_200];
const ANSWERED_WITHIN_MS = 4_000;
/** A socket asks this many times. Then another one follows, from another port. */
const MAX_QUERIES_OF_SOCKET = 64;
/** Sockets without a query are closed after this long. */
const IDLE_MS = 10_000;
/** Bytes of the length that precedes a message over TCP (RFC 1035, section 4.2.2). */
const LENGTH_BYTES = 2;

/** The resolvers of an exit, and the only way to them. */
export interface ExitResolvers {
  link: string;
  mark: number;
  resolvers: readonly Address[];
}

/** A query that waits for its answer. */
interface Pending {
  query: Uint8Array;
  settle: (answer: Answer | "truncated") => void;
  fail: () => void;
}

/** How sockets are opened. Tests open theirs elsewhere. */
export interface Sockets {
  udp: (way: Way, ears: Ears) => Promise<BoundSocket>;
  tcp: (way: Way, ears: Ears) => Promise<BoundSocket>;
}

/** Asks the resolvers of exits, each by its exit and by no other way. */
export class Upstream {
  private readonly sockets = new Map<string, Promise<AskingSocket>>();

  constructor(private readonly open: Sockets = { udp: openBoundUdp, tcp: openBoundTcp }) {}

  /** Null if no resolver answers. */
  async ask(question: Question, exit: ExitResolvers): Promise<Answer | null> {
    const query = queryFor(question);
    const answer = await this.overUdp(query, exit);
    return answer === "truncated" ? this.overTcp(query, exit) : answer;
  }

  /** Closes all sockets; whoever waits gets nothing. */
  close(): void {
    for (const socket of this.sockets.values()) void socket.then((each) => each.close()).catch(() => {});
    this.sockets.clear();
  }

  private overUdp(query: Uint8Array, exit: ExitResolvers): Promise<Answer | "truncated" | null> {
    const { promise, resolve } = Promise.withResolvers<Answer | "truncated" | null>();
    const { resolvers } = exit;
    let refusals = 0;
    const pending: Pending = {
      query,
      settle: resolve,
      // Each resolver may refuse at once.
      fail: () => {
        refusals += 1;
        if (refusals > REPEAT_AFTER_MS.length) resolve(null);
      },
    };
    const asked: AskingSocket[] = [];
    const send = async (time: number) => {
      const address = resolvers[time % resolvers.length];
      if (address === undefined) return resolve(null);
      try {
        const socket = await this.socketTo(address, exit);
        asked.push(socket);
        socket.ask(pending);
      } catch {
        pending.fail();
      }
    };
    const timers = REPEAT_AFTER_MS.map((ms, index) => setTimeout(() => void send(index + 1), ms));
    timers.push(setTimeout(() => resolve(null), ANSWERED_WITHIN_MS));
    void send(0);
    return promise.finally(() => {
      for (const timer of timers) clearTimeout(timer);
      for (const socket of asked) socket.forget(pending);
    });
  }

  private async overTcp(query: Uint8Array, exit: ExitResolvers): Promise<Answer | null> {
    for (const address of exit.resolvers) {
      const answer = await this.connection(query, wayTo(address, exit)).catch(() => null);
      if (answer !== null) return answer;
    }
    return null;
  }

  private async connection(query: Uint8Array, way: Way): Promise<Answer | null> {
    const { promise, resolve } = Promise.withResolvers<Answer | null>();
    let received = Buffer.alloc(0);
    const onData = (bytes: Uint8Array) => {
      received = Buffer.concat([received, bytes]);
      if (received.length < LENGTH_BYTES) return;
      const end = LENGTH_BYTES + received.readUInt16BE();
      if (end > MAX_ANSWER_BYTES) resolve(null);
      else if (received.length >= end) resolve(answerOrNull(received.subarray(LENGTH_BYTES, end), query));
    };
    const timer = setTimeout(() => resolve(null), ANSWERED_WITHIN_MS);
    const socket = await this.open.tcp(way, { onData, onEnd: () => resolve(null) });
    const framed = Buffer.alloc(LENGTH_BYTES + query.length);
    framed.writeUInt16BE(query.length);
    framed.set(query, LENGTH_BYTES);
    if (!socket.send(framed)) resolve(null);
    return promise.finally(() => {
      clearTimeout(timer);
      socket.close();
    });
  }

  private socketTo(address: Address, exit: ExitResolvers): Promise<AskingSocket> {
    const key = `${exit.link} ${exit.mark} ${address}`;
    const known = this.sockets.get(key);
    if (known !== undefined) return known;
    const leave = () => {
      if (this.sockets.get(key) === opened) this.sockets.delete(key);
    };
    const opened = AskingSocket.open((ears) => this.open.udp(wayTo(address, exit), ears), leave);
    this.sockets.set(key, opened);
    opened.catch(leave);
    return opened;
  }
}

/** One source port, and the queries that it waits for. */
class AskingSocket {
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

  static async open(open: (ears: Ears) => Promise<BoundSocket>, leave: () => void): Promise<AskingSocket> {
    const socket: { current: BoundSocket | null } = { current: null };
    const asking = new AskingSocket(socket, leave);
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

  /** Whatever does not answer one of its queries is as good as nothing. */
  private hear(message: Uint8Array): void {
    if (message.length < LENGTH_BYTES) return;
    const pending = this.pending.get(idOf(message));
    if (pending === undefined) return;
    const answer = readAnswer(message, pending.query);
    if (answer !== "malformed") pending.settle(answer ?? "truncated");
  }

  private fail(): void {
    for (const pending of this.pending.values()) pending.fail();
  }

  private lookIdle(): void {
    if (!this.isUsed && this.pending.size === 0) this.close();
    this.isUsed = false;
  }
}

function wayTo(address: Address, { link, mark }: ExitResolvers): Way {
  return { link, mark, peer: { address, port: PORT } };
}

function answerOrNull(message: Uint8Array, query: Uint8Array): Answer | null {
  const answer = readAnswer(message, query);
  return answer === "malformed" ? null : answer;
}

/** Null if it was cut off. */
function readAnswer(message: Uint8Array, query: Uint8Array): Answer | null | "malformed" {
  try {
    return answerIn(message, query);
  } catch {
    return "malformed";
  }
}

function idOf(message: Uint8Array): number {
  return ((message[0] ?? 0) << 8) | (message[1] ?? 0);
}
