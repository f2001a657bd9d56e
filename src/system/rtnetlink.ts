import { ptr } from "bun:ffi";
import { nextTurn } from "../base/queue.ts";
import { Call } from "./call.ts";
import { libc, NONBLOCK_CLOEXEC } from "./libc.ts";
import { ERROR, type Message, messagesIn, PART_BYTES, REQUEST, receive } from "./netlink.ts";

/** From the kernel's headers (linux/netlink.h, sockios.h); the same on ARM and x86. */
const [AF_NETLINK, SOCK_RAW, NETLINK_ROUTE] = [16, 3, 0];
/** The kernel then reads the whole question, and leaves out what was not asked for. */
const [SOL_NETLINK, STRICT] = [270, 12];
const [ACKNOWLEDGE, DUMP, INTERRUPTED] = [0x4, 0x300, 0x10];
const DONE = 3;
const ENOENT = -2;
const GET_NAME = 0x8910;
const [HEADER_BYTES, IFREQ_BYTES, NAME_BYTES] = [16, 40, 16];

const ANSWERED_WITHIN_MS = 10_000;
/** Something that is changed all the time cannot be listed in one piece. */
const ATTEMPTS = 3;

/** What is asked: the message's type, the header of its kind, and attributes. */
export interface Question {
  type: number;
  header: Uint8Array;
  attributes?: readonly Buffer[];
}

/** A socket to the kernel's links, addresses, neighbours, routes and rules, in the network namespace of its making. */
export class Rtnetlink implements Disposable {
  private readonly names = new Map<number, string>();
  /** A call that nobody waits for any more: another file with this number would wait for it. */
  private late: Call | null = null;
  /** For one part after the other. */
  private room: Uint8Array | null = null;

  private constructor(private readonly socket: number) {}

  /** Null if there is none to be had. */
  static open(): Rtnetlink | null {
    const socket = libc().socket(AF_NETLINK, SOCK_RAW | NONBLOCK_CLOEXEC, NETLINK_ROUTE);
    if (socket < 0) return null;
    const on = Int32Array.of(1);
    libc().setsockopt(socket, SOL_NETLINK, STRICT, ptr(on), on.byteLength);
    return new Rtnetlink(socket);
  }

  /**
   * All there is of a kind; null if the kernel refuses to say, or if it changes all the time. Each is read with the part
   * that it comes in: thousands at once would hold the event loop up. What is read as null is left out.
   */
  async all<Row>(question: Question, rowIn: (message: Message) => Row | null): Promise<Row[] | null> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const found = await this.dump(question, rowIn);
      if (found !== "interrupted") return found;
    }
    return null;
  }

  /** One thing; null if there is none. */
  async one(question: Question): Promise<Message | null> {
    if (!(await this.ask(messageOf(question, REQUEST)))) return null;
    return receive(this.socket).find(({ type }) => type !== ERROR) ?? null;
  }

  /** The same within the call, which waits for whoever changes the network. */
  oneAtOnce(question: Question): Message | null {
    const bytes = messageOf(question, REQUEST);
    if (Number(libc().send(this.socket, ptr(bytes), bytes.length, 0)) < 0) return null;
    return receive(this.socket).find(({ type }) => type !== ERROR) ?? null;
  }

  /** Whether the kernel has made a change. */
  async change(question: Question): Promise<boolean> {
    if (!(await this.ask(messageOf(question, REQUEST | ACKNOWLEDGE)))) return false;
    return receive(this.socket).some(({ type, body }) => type === ERROR && body.readInt32LE() === 0);
  }

  /** The name of a link, as `ip` has it for one that is gone, too. */
  nameOf(index: number): string {
    const known = this.names.get(index) ?? this.nameInKernel(index);
    this.names.set(index, known);
    return known;
  }

  [Symbol.dispose](): void {
    const close = () => void libc().close(this.socket);
    if (this.late === null) close();
    else void this.late.end().then(close);
  }

  private nameInKernel(index: number): string {
    const request = Buffer.alloc(IFREQ_BYTES);
    request.writeInt32LE(index, NAME_BYTES);
    if (libc().ioctl(this.socket, GET_NAME, ptr(request)) !== 0) return `if${index}`;
    return request.toString("utf8", 0, request.indexOf(0));
  }

  /** The kernel makes each part in the call that takes the one before. The end of all is the last. */
  private async dump<Row>(
    question: Question,
    rowIn: (message: Message) => Row | null,
  ): Promise<Row[] | "interrupted" | null> {
    if (!(await this.ask(messageOf(question, REQUEST | DUMP)))) return null;
    const rows: Row[] = [];
    for (let isInterrupted = false; ; ) {
      const messages = await this.part();
      const end = messages.find(({ type }) => type === DONE || type === ERROR);
      // The end says so, too, if what changed was the last.
      isInterrupted ||= messages.some(({ flags }) => (flags & INTERRUPTED) !== 0);
      const found = messages.filter((message) => message !== end).map(rowIn);
      rows.push(...found.filter((row) => row !== null));
      if (end !== undefined) return isInterrupted ? "interrupted" : endOf(end, rows);
      if (messages.length === 0) return null;
    }
  }

  /** Making the next part, too, waits for whoever changes the network. One that is there at once gets a turn of its own. */
  private async part(): Promise<Message[]> {
    this.room ??= new Uint8Array(new ArrayBuffer(PART_BYTES));
    const call = new Call(this.socket, this.room, "aio_read");
    await nextTurn();
    if (await this.isDone(call)) return messagesIn(Buffer.from(call.taken()));
    return [];
  }

  /** The kernel answers in the call that asks, once nobody else changes the network: a thread of libc makes it. */
  private async ask(message: Buffer): Promise<boolean> {
    const call = new Call(this.socket, message);
    return (await this.isDone(call)) && call.isTaken();
  }

  private async isDone(call: Call): Promise<boolean> {
    const isDone = await call.isDone(ANSWERED_WITHIN_MS);
    if (!isDone) this.late = call;
    return isDone;
  }
}

/** A routing table that never had a route does not exist. */
function endOf<Row>({ body }: Message, found: Row[]): Row[] | null {
  const code = body.readInt32LE();
  if (code === ENOENT) return [];
  return code === 0 ? found : null;
}

function messageOf({ type, header, attributes = [] }: Question, flags: number): Buffer {
  const message = Buffer.concat([Buffer.alloc(HEADER_BYTES), header, ...attributes]);
  message.writeUInt32LE(message.length);
  message.writeUInt16LE(type, 4);
  message.writeUInt16LE(flags, 6);
  return message;
}
