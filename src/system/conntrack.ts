import { ptr } from "bun:ffi";
import { addressFrom } from "../base/address.ts";
import type { GatewayError } from "../base/errors.ts";
import { Call } from "./call.ts";
import type { Connection, Direction } from "./host.ts";
import { libc } from "./libc.ts";
import {
  type Attributes,
  attribute,
  attributesIn,
  ERROR,
  messageOf,
  openNetfilter,
  REQUEST,
  receive,
} from "./netlink.ts";
import { refused } from "./refusals.ts";

/** From the kernel's headers (linux/netlink.h, nfnetlink_conntrack.h); the same on ARM and x86. */
const DUMP = 0x300;
const [DONE, NEW, GET, DELETE] = [3, 0x100, 0x101, 0x102];
const [ORIGINAL, REPLY, STATUS, PROTOINFO, ID, ZONE] = [1, 2, 3, 4, 12, 18];
const TUPLE = { ip: 1, proto: 2, zone: 3 };
const IP = { source4: 1, destination4: 2, source6: 3, destination6: 4 };
const PROTO = { number: 1, source: 2, destination: 3 };
const DST_NAT = 0x20;
/** From SYN_RECV to CLOSE_WAIT: an end of the connection may still wait for the other. */
const TCP_OPEN = { first: 2, last: 5 };
const ENOENT = -2;
const EAGAIN_AT_MOST = 100;

/** What is deleted by one call; the kernel's answers to it fit into its buffer. */
const DELETED_AT_ONCE = 64;
/** By then the kernel has begun to answer. */
const ASKED_WITHIN_MS = 10_000;
/** The event loop gets its turn after this long: an answer may wait for it several times. */
const TURN_MS = 1;

/**
 * The connections that the kernel tracks.
 *
 * A socket stays open: while the kernel frees what a change of the firewall has removed, it lets the end of each socket
 * of netfilter wait (nf_tables_api.c, `nft_rcv_nl_event`). That takes 10 ms and more, in which the event loop would not
 * turn.
 */
export class ConnectionTable {
  /** Sockets that nobody uses: as many as looks have run at the same time. */
  private readonly idle: number[] = [];

  /** Ends the connections that `isOver` names, and returns them. */
  async end(isOver: (connection: Connection) => boolean): Promise<Connection[]> {
    const socket = this.idle.pop() ?? openNetfilter();
    if (socket < 0) throw kept();
    try {
      const ended = await endOn(socket, isOver);
      this.idle.push(socket);
      return ended;
    } catch (error) {
      // Answers may still come, which the next look would take for its own.
      libc().close(socket);
      throw error;
    }
  }
}

async function endOn(socket: number, isOver: (connection: Connection) => boolean): Promise<Connection[]> {
  const ended: Connection[] = [];
  const requests: Buffer[] = [];
  for await (const { family, attributes } of entriesOf(socket)) {
    const connection = connectionIn(attributes);
    if (connection === null || !isOver(connection)) continue;
    ended.push(connection);
    requests.push(deletionOf(family, attributes));
  }
  for (let at = 0; at < requests.length; at += DELETED_AT_ONCE) {
    send(socket, Buffer.concat(requests.slice(at, at + DELETED_AT_ONCE)));
    assertDeleted(socket);
    await Bun.sleep(0);
  }
  return ended;
}

/** The whole table. The kernel makes each part when the one before has been taken. */
async function* entriesOf(socket: number): AsyncGenerator<{ family: number; attributes: Attributes }> {
  await ask(socket, messageOf({ type: GET, flags: REQUEST | DUMP }, []));
  let turn = performance.now();
  for (let empty = 0; empty < EAGAIN_AT_MOST; ) {
    const messages = receive(socket);
    for (const { type, body } of messages) {
      if (type === DONE) return;
      if (type === ERROR) throw kept();
      if (type === NEW) yield { family: body[0] ?? 0, attributes: attributesIn(body.subarray(4)) };
    }
    empty = messages.length === 0 ? empty + 1 : 0;
    if (empty === 0 && performance.now() - turn < TURN_MS) continue;
    await Bun.sleep(0);
    turn = performance.now();
  }
  throw kept();
}

/**
 * The kernel makes the first part in the call that asks for it: with few connections, it looks through the whole table
 * for it, of some 260,000 places, in 7 ms.
 */
async function ask(socket: number, request: Buffer): Promise<void> {
  const call = new Call(socket, request);
  if (await call.isDone(ASKED_WITHIN_MS)) {
    if (!call.isTaken()) throw kept();
    return;
  }
  void call.end();
  throw kept();
}

/** Takes every answer. The kernel gives only those that are errors, and all of them before `send` returns. */
function assertDeleted(socket: number): void {
  for (let messages = receive(socket); messages.length > 0; messages = receive(socket))
    // One that has ended by itself meanwhile is not there any more.
    for (const { type, body } of messages)
      if (type === ERROR && body.readInt32LE() !== 0 && body.readInt32LE() !== ENOENT) throw kept();
}

/** Null for protocols without ports, but ICMP's. */
function connectionIn(attributes: Attributes): Connection | null {
  const [original, reply] = [attributes.get(ORIGINAL), attributes.get(REPLY)].map((tuple) =>
    tuple === undefined ? null : attributesIn(tuple),
  );
  if (!original || !reply) return null;
  const zone = attributes.get(ZONE) ?? original.get(TUPLE.zone);
  const protocol = attributesIn(original.get(TUPLE.proto)).get(PROTO.number)?.[0] ?? 0;
  const tcp = attributesIn(attributesIn(attributes.get(PROTOINFO)).get(1)).get(1)?.[0] ?? 0;
  return {
    protocol,
    zone: zone?.readUInt16BE() ?? 0,
    original: directionIn(original),
    reply: directionIn(reply),
    isRedirected: ((attributes.get(STATUS)?.readUInt32BE() ?? 0) & DST_NAT) !== 0,
    isOpen: protocol === 6 && tcp >= TCP_OPEN.first && tcp <= TCP_OPEN.last,
  };
}

function directionIn(tuple: Attributes): Direction {
  const ip = attributesIn(tuple.get(TUPLE.ip));
  const proto = attributesIn(tuple.get(TUPLE.proto));
  const address = (four: number, six: number) => addressFrom(ip.get(four) ?? ip.get(six) ?? Buffer.alloc(4));
  const port = (type: number) => proto.get(type)?.readUInt16BE() ?? 0;
  return {
    source: address(IP.source4, IP.source6),
    sourcePort: port(PROTO.source),
    destination: address(IP.destination4, IP.destination6),
    destinationPort: port(PROTO.destination),
  };
}

/** By tuple, zone and number: never a connection that has taken the place of the one that was looked at. */
function deletionOf(family: number, attributes: Attributes): Buffer {
  const kept = [ORIGINAL, ZONE, ID].flatMap((type) => {
    const value = attributes.get(type);
    return value === undefined ? [] : [attribute(type, value, type === ORIGINAL)];
  });
  return messageOf({ type: DELETE, flags: REQUEST, family }, kept);
}

function send(socket: number, bytes: Buffer): void {
  if (Number(libc().send(socket, ptr(bytes), bytes.length, 0)) < 0) throw kept();
}

function kept(): GatewayError {
  return refused("connections_kept");
}
