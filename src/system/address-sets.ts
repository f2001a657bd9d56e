import { type Address, bytesOf } from "../base/address.ts";
import { GatewayError } from "../base/errors.ts";
import { Queue } from "../base/queue.ts";
import { Call } from "./call.ts";
import type { SetChange } from "./host.ts";
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
