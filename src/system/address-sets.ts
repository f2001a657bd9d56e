import { ptr } from "bun:ffi";
import { type Address, bytesOf } from "../base/address.ts";
import { GatewayError } from "../base/errors.ts";
import { nextTurn, Queue } from "../base/queue.ts";
import type { SetChange } from "./host.ts";
import { libc } from "./libc.ts";
import { attribute, ERROR, messageOf, openNetfilter, REQUEST, receive } from "./netlink.ts";

/** From the kernel's headers (linux/netlink.h, nfnetlink.h, nf_tables.h); the same on ARM and x86. */
const [ACKNOWLEDGE, CREATE] = [0x4, 0x400];
const [BEGIN, END, NF_TABLES] = [0x10, 0x11, 10];
const TYPE = { add: (NF_TABLES << 8) | 12, delete: (NF_TABLES << 8) | 14 };
const [TABLE, SET, ELEMENTS] = [1, 2, 3];
/** Of an element in a list, of its key, and of the key's bytes. */
const [ELEMENT, KEY, VALUE] = [1, 1, 1];
const FAMILY_INET = 1;
/** A list of elements has at most 64 KiB. */
const MAX_ELEMENTS = 1_000;

/** `struct aiocb` (aio.h), as long as 64-bit systems have it: the file, what is written, and that no signal tells its end. */
const CONTROL_BYTES = 168;
const [FILE_AT, BYTES_AT, LENGTH_AT, SIGNAL_AT] = [0, 16, 24, 44];
const NO_SIGNAL = 1;
const EINPROGRESS = 115;
/** So many turns of the event loop take half a millisecond. By then the kernel has mostly done its work; a timer takes longer. */
const LOOKS_AT_ONCE = 100;
const LOOK_MS = 1;
/** As for `nft`, which waits for the same. */
const TIMEOUT_MS = 30_000;

/**
 * Changes elements of the firewall's sets without a program: to start `nft` takes longer than a resolver does to answer.
 *
 * The kernel changes the firewall in the call that hands the change over, and makes that wait for whoever else changes
 * it: a second, if that is another program's set of a hundred thousand addresses. So a thread of libc makes the call.
 * The socket stays open, because the kernel lets its end wait in the same way (nf_tables_api.c, `nft_rcv_nl_event`).
 */
export class AddressSets {
  private socket: number | null = null;
  /** Of the last transaction: an answer that comes too late has an earlier one. */
  private sequence = 0;
  private readonly queue = new Queue();

  /** Makes all changes in one transaction. Throws `GatewayError`; nothing has changed then, unless it is `timed_out`. */
  async change(changes: readonly SetChange[]): Promise<void> {
    // Now, and not in a later turn: a socket is in the network namespace in which it was opened.
    const socket = this.socket ?? openNetfilter();
    if (socket < 0) throw refused("there is no socket for that");
    this.socket = socket;
    return this.queue.add(() => this.commit(socket, changes));
  }

  private async commit(socket: number, changes: readonly SetChange[]): Promise<void> {
    this.sequence += 1;
    const { sequence } = this;
    const parts = changes.flatMap(partsOf);
    const call = new Call(socket, transactionOf(parts, sequence));
    if (!(await call.isDone(TIMEOUT_MS))) {
      void call.end();
      throw new GatewayError(
        "timed_out",
        `the kernel did not change its sets within ${TIMEOUT_MS / 1_000} s`,
      );
    }
    const answers = answersOn(socket, sequence);
    if (!call.isTaken()) throw refused("it does not take the change");
    const failure = answers.find((code) => code !== 0);
    if (failure !== undefined) throw refused(`error ${-failure}`);
    // The kernel answers each part after the commit.
    if (answers.length < parts.length) throw refused("it does not answer");
  }
}

/** A call that hands bytes to the kernel, in a thread of libc. Both the bytes and its own stay where they are meanwhile. */
class Call {
  private readonly control = new Uint8Array(new ArrayBuffer(CONTROL_BYTES));
  private readonly bytes: Uint8Array;
  private readonly hasBegun: boolean;

  constructor(socket: number, message: Uint8Array) {
    this.bytes = new Uint8Array(new ArrayBuffer(message.length));
    this.bytes.set(message);
    const control = new DataView(this.control.buffer);
    control.setInt32(FILE_AT, socket, true);
    control.setBigUint64(BYTES_AT, BigInt(ptr(this.bytes)), true);
    control.setBigUint64(LENGTH_AT, BigInt(message.length), true);
    control.setInt32(SIGNAL_AT, NO_SIGNAL, true);
    this.hasBegun = libc().aio_write(ptr(this.control)) === 0;
  }

  /** False if it takes longer. */
  async isDone(withinMs: number): Promise<boolean> {
    const late = performance.now() + withinMs;
    for (let looks = 0; this.isUnderWay(); looks += 1) {
      if (performance.now() > late) return false;
      await (looks < LOOKS_AT_ONCE ? nextTurn() : Bun.sleep(LOOK_MS));
    }
    return true;
  }

  /** Keeps the bytes until then. */
  async end(): Promise<void> {
    while (this.isUnderWay()) await Bun.sleep(TIMEOUT_MS);
  }

  /** Once it is done. */
  isTaken(): boolean {
    return this.hasBegun && Number(libc().aio_return(ptr(this.control))) === this.bytes.length;
  }

  private isUnderWay(): boolean {
    return this.hasBegun && libc().aio_error(ptr(this.control)) === EINPROGRESS;
  }
}

interface Part {
  type: number;
  flags: number;
  attributes: Buffer[];
}

function transactionOf(parts: readonly Part[], sequence: number): Buffer {
  const frame = { flags: REQUEST, resource: NF_TABLES, sequence };
  return Buffer.concat([
    messageOf({ ...frame, type: BEGIN }, []),
    ...parts.map(({ attributes, ...header }) =>
      messageOf({ ...header, family: FAMILY_INET, sequence }, attributes),
    ),
    messageOf({ ...frame, type: END }, []),
  ]);
}

function partsOf({ verb, table, set, addresses }: SetChange): Part[] {
  const flags = REQUEST | ACKNOWLEDGE | (verb === "add" ? CREATE : 0);
  return Array.from({ length: Math.ceil(addresses.length / MAX_ELEMENTS) }, (_, number) => {
    const some = addresses.slice(number * MAX_ELEMENTS, (number + 1) * MAX_ELEMENTS);
    const names = [attribute(TABLE, textOf(table)), attribute(SET, textOf(set))];
    const elements = attribute(ELEMENTS, Buffer.concat(some.map(elementOf)), true);
    return { type: TYPE[verb], flags, attributes: [...names, elements] };
  });
}

function elementOf(address: Address): Buffer {
  return attribute(ELEMENT, attribute(KEY, attribute(VALUE, bytesOf(address)), true), true);
}

function textOf(name: string): Uint8Array {
  return Buffer.from(`${name}\0`);
}

/** The kernel's answers to a transaction: 0, or a negative error. */
function answersOn(socket: number, sequence: number): number[] {
  const answers: number[] = [];
  for (let messages = receive(socket); messages.length > 0; messages = receive(socket))
    for (const { type, sequence: answered, body } of messages)
      if (type === ERROR && answered === sequence) answers.push(body.readInt32LE());
  return answers;
}

function refused(why: string): GatewayError {
  return new GatewayError("kernel_refused", `the kernel does not change its sets: ${why}`);
}
