import { ptr } from "bun:ffi";
import { bytesOf, mustParseAddress } from "../base/address.ts";
import type { GatewayError } from "../base/errors.ts";
import { Queue } from "../base/queue.ts";
import { Call } from "./call.ts";
import type { ElementChange, ElementType } from "./host.ts";
import { libc, SOL_SOCKET } from "./libc.ts";
import { attribute, ERROR, messageOf, openNetfilter, REQUEST, receive } from "./netlink.ts";
import { refused } from "./refusals.ts";

/** From the kernel's headers (linux/netlink.h, nfnetlink.h, nf_tables.h); the same on ARM and x86. */
const [ACKNOWLEDGE, CREATE] = [0x4, 0x400];
const [BEGIN, END, NF_TABLES] = [0x10, 0x11, 10];
const TYPE = { add: (NF_TABLES << 8) | 12, delete: (NF_TABLES << 8) | 14 };
const [TABLE, SET, ELEMENTS] = [1, 2, 3];
/** Of an element in a list, and of its parts: `nft_set_elem_attributes`, `nft_data_attributes`, `nft_verdict_attributes`. */
const [ELEMENT, KEY, DATA, VALUE, VERDICT, CODE, CHAIN] = [1, 1, 2, 1, 2, 1, 2];
const NFT_GOTO = -4;
const FAMILY_INET = 1;
/** Of a list of elements: its length has 16 bits. */
const MAX_LIST_BYTES = 65_000;
/**
 * The kernel takes no transaction that is longer than the socket's buffer, which is 208 KiB by default. The other one has
 * room for the answers to some 270 parts then, and without room the kernel gives none.
 */
const [SO_SNDBUFFORCE, SO_RCVBUFFORCE] = [32, 33];
const MAX_BYTES = 1 << 20;

/** As for `nft`, which waits for the same. */
const TIMEOUT_MS = 30_000;

/**
 * Changes elements of the firewall's sets without a program: to start `nft` takes longer than a resolver does to answer,
 * and `nft` ends only when the kernel has freed what others have removed.
 *
 * The kernel changes the firewall in the call that hands the change over, and makes that wait for whoever else changes
 * it: a second, if that is another program's set of a hundred thousand addresses. So a thread of libc makes the call.
 * The socket stays open, because the kernel lets its end wait in the same way (nf_tables_api.c, `nft_rcv_nl_event`).
 */
export class SetElements {
  private socket: number | null = null;
  /** Of the last transaction: an answer that comes too late has an earlier one. */
  private sequence = 0;
  private readonly queue = new Queue();

  /** Makes all changes in one transaction. Throws `GatewayError`; nothing has changed then, unless it is `timed_out`. */
  async change(changes: readonly ElementChange[]): Promise<void> {
    // Now, and not in a later turn: a socket is in the network namespace in which it was opened.
    const socket = this.socket ?? opened();
    if (socket < 0) throw unchanged("there is no socket for that");
    this.socket = socket;
    return this.queue.add(() => this.commit(socket, changes));
  }

  private async commit(socket: number, changes: readonly ElementChange[]): Promise<void> {
    this.sequence += 1;
    const { sequence } = this;
    const parts = changes.flatMap(partsOf);
    const call = new Call(socket, transactionOf(parts, sequence));
    if (!(await call.isDone(TIMEOUT_MS))) {
      void call.end();
      throw refused("kernel_sets_late", { seconds: TIMEOUT_MS / 1_000 });
    }
    const answers = answersOn(socket, sequence);
    if (!call.isTaken()) throw unchanged("it does not take the change");
    const failure = answers.find((code) => code !== 0);
    if (failure !== undefined) throw unchanged(`error ${-failure}`);
    // The kernel answers each part after the commit.
    if (answers.length < parts.length) throw unchanged("it does not answer");
  }
}

function opened(): number {
  const socket = openNetfilter();
  const bytes = Int32Array.of(MAX_BYTES);
  for (const option of [SO_SNDBUFFORCE, SO_RCVBUFFORCE])
    if (socket >= 0) libc().setsockopt(socket, SOL_SOCKET, option, ptr(bytes), bytes.byteLength);
  return socket;
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

function partsOf({ verb, table, set, type, elements }: ElementChange): Part[] {
  const flags = REQUEST | ACKNOWLEDGE | (verb === "add" ? CREATE : 0);
  const names = [attribute(TABLE, textOf(table)), attribute(SET, textOf(set))];
  const all = elements.map((element) => elementOf(element, type, verb));
  return listsOf(all).map((list) => ({
    ...{ type: TYPE[verb], flags },
    attributes: [...names, attribute(ELEMENTS, Buffer.concat(list), true)],
  }));
}

function listsOf(elements: readonly Buffer[]): Buffer[][] {
  const longest = elements.reduce((most, { length }) => Math.max(most, length), 1);
  const most = Math.floor(MAX_LIST_BYTES / longest);
  return Array.from({ length: Math.ceil(elements.length / most) }, (_, number) =>
    elements.slice(number * most, (number + 1) * most),
  );
}

/** The bytes of a key; the kernel refuses those of another length than the set's. */
const KEYS: Readonly<Record<ElementType, (key: string) => Uint8Array>> = {
  ipv4_addr: addressBytes,
  ipv6_addr: addressBytes,
  "ipv4_addr . inet_service": serverBytes,
  "ipv6_addr . inet_service": serverBytes,
  ether_addr: macBytes,
  "ct original zone": zoneBytes,
  "ether_addr : verdict": macBytes,
  nf_proto: (family) => Uint8Array.of(Number(family)),
  inet_service: portBytes,
  "ether saddr : ct original zone": macBytes,
  "ct original zone : th dport": zoneBytes,
};

/** The data of maps that lead to no verdict. */
const VALUES: Readonly<Partial<Record<ElementType, (value: string) => Uint8Array>>> = {
  "ether saddr : ct original zone": zoneBytes,
  "ct original zone : th dport": portBytes,
};

function elementOf(element: string, type: ElementType, verb: ElementChange["verb"]): Buffer {
  const [key = "", data] = element.split(" : ");
  const parts = [attribute(KEY, attribute(VALUE, KEYS[type](key)), true)];
  if (data !== undefined && verb === "add") {
    const value = VALUES[type]?.(data);
    parts.push(attribute(DATA, value === undefined ? verdictOf(data) : attribute(VALUE, value), true));
  }
  return attribute(ELEMENT, Buffer.concat(parts), true);
}

function addressBytes(address: string): Uint8Array {
  return bytesOf(mustParseAddress(address));
}

/** An address and a port. The kernel has each part of such a key in whole words of four bytes. */
function serverBytes(server: string): Uint8Array {
  const [address = "", port = ""] = server.split(" . ");
  return Buffer.concat([addressBytes(address), portBytes(port), Buffer.alloc(2)]);
}

function macBytes(mac: string): Uint8Array {
  return Buffer.from(mac.replaceAll(":", ""), "hex");
}

function portBytes(port: string): Uint8Array {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(Number(port));
  return bytes;
}

/** The kernel compares it as a number of its own, in the machine's order. */
function zoneBytes(zone: string): Uint8Array {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(Number(zone));
  return bytes;
}

function verdictOf(text: string): Buffer {
  const [, chain] = /^goto (\S+)$/.exec(text) ?? [];
  if (chain === undefined) throw unchanged(`${text} is no verdict that it is given`);
  const code = Buffer.alloc(4);
  code.writeInt32BE(NFT_GOTO);
  return attribute(VERDICT, Buffer.concat([attribute(CODE, code), attribute(CHAIN, textOf(chain))]), true);
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

function unchanged(why: string): GatewayError {
  return refused("kernel_sets_refused", { reason: why });
}
