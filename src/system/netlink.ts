import { ptr } from "bun:ffi";
import { libc, NONBLOCK_CLOEXEC } from "./libc.ts";

/** From the kernel's headers (linux/netlink.h, nfnetlink.h); the same on ARM and x86. */
const [AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER] = [16, 3, 12];
/** A flag of each message to the kernel. */
export const REQUEST = 0x1;
/** The type of an answer that says whether a message was taken. */
export const ERROR = 2;
const NESTED = 0x8000;
const ATTRIBUTE_TYPE = 0x3fff;
/** Netlink's header, and nfnetlink's behind it. */
const HEADER_BYTES = 20;
const OWN_HEADER_BYTES = 16;
const ATTRIBUTE_HEADER_BYTES = 4;
/** The kernel gives a part of a table in 32 KiB at most. */
export const PART_BYTES = 65_536;

export type Attributes = Map<number, Buffer>;

/** What a message is about. */
interface Header {
  type: number;
  flags: number;
  family?: number;
  /** Of nfnetlink's header: the part of the kernel that a transaction is for. */
  resource?: number;
  /** The answer has the same. */
  sequence?: number;
}

export interface Message {
  type: number;
  flags: number;
  sequence: number;
  body: Buffer;
}

/** A socket to the kernel's firewall and connection tracking; negative if there is none to be had. */
export function openNetfilter(): number {
  return libc().socket(AF_NETLINK, SOCK_RAW | NONBLOCK_CLOEXEC, NETLINK_NETFILTER);
}

export function messageOf(header: Header, attributes: readonly Buffer[]): Buffer {
  const message = Buffer.concat([Buffer.alloc(HEADER_BYTES), ...attributes]);
  message.writeUInt32LE(message.length);
  message.writeUInt16LE(header.type, 4);
  message.writeUInt16LE(header.flags, 6);
  message.writeUInt32LE(header.sequence ?? 0, 8);
  message.writeUInt8(header.family ?? 0, 16);
  message.writeUInt16BE(header.resource ?? 0, 18);
  return message;
}

export function attribute(type: number, value: Uint8Array, nested = false): Buffer {
  const bytes = Buffer.alloc(aligned(ATTRIBUTE_HEADER_BYTES + value.length));
  bytes.writeUInt16LE(ATTRIBUTE_HEADER_BYTES + value.length);
  bytes.writeUInt16LE(type | (nested ? NESTED : 0), 2);
  bytes.set(value, ATTRIBUTE_HEADER_BYTES);
  return bytes;
}

export function attributesIn(bytes: Buffer | undefined): Attributes {
  const found: Attributes = new Map();
  if (bytes === undefined) return found;
  for (let at = 0; at + ATTRIBUTE_HEADER_BYTES <= bytes.length; ) {
    const length = bytes.readUInt16LE(at);
    if (length < ATTRIBUTE_HEADER_BYTES) break;
    const value = bytes.subarray(at + ATTRIBUTE_HEADER_BYTES, at + length);
    found.set(bytes.readUInt16LE(at + 2) & ATTRIBUTE_TYPE, value);
    at += aligned(length);
  }
  return found;
}

/** A text of the kernel's, which ends with a zero. */
export function textIn(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString("utf8", 0, end < 0 ? bytes.length : end);
}

/** Taken once: most parts are short, and what is let go makes the runtime collect garbage by its length. */
let room: Buffer | null = null;

/** The messages of one part; none if there is none yet. */
export function receive(socket: number): Message[] {
  room ??= Buffer.allocUnsafeSlow(PART_BYTES);
  const length = Number(libc().recvfrom(socket, ptr(room), room.length, 0, null, null));
  return messagesIn(Buffer.from(room.subarray(0, Math.max(length, 0))));
}

export function messagesIn(buffer: Buffer): Message[] {
  const messages: Message[] = [];
  for (let at = 0; at + OWN_HEADER_BYTES <= buffer.length; ) {
    const size = buffer.readUInt32LE(at);
    if (size < OWN_HEADER_BYTES) break;
    messages.push({
      type: buffer.readUInt16LE(at + 4),
      flags: buffer.readUInt16LE(at + 6),
      sequence: buffer.readUInt32LE(at + 8),
      body: buffer.subarray(at + OWN_HEADER_BYTES, at + size),
    });
    at += aligned(size);
  }
  return messages;
}

function aligned(length: number): number {
  return (length + 3) & ~3;
}
