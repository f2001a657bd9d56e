import { ptr } from "bun:ffi";
import { isIPv6 } from "node:net";
import { bytesOf } from "../base/address.ts";
import type { Direction } from "./host.ts";
import { libc, NONBLOCK_CLOEXEC } from "./libc.ts";
import { refused } from "./refusals.ts";

/** From the kernel's headers; the same on ARM and x86. */
const SOCK_RAW = 3;
/** The packets have their own IP header (raw(7)). */
const IPPROTO_RAW = 255;
const FAMILIES = {
  4: { number: 2, headerBytes: 20, addressAt: 4, sockaddrBytes: 16 },
  6: { number: 10, headerBytes: 40, addressAt: 8, sockaddrBytes: 28 },
};
const TCP = 6;
const TCP_BYTES = 20;
const SYN_ACK = 0x12;
const HOP_LIMIT = 64;

/** What cannot be sent gets no answer, like what gets lost. */
export function challenge(connections: readonly Direction[]): void {
  for (const family of [4, 6] as const) {
    const some = connections.filter(({ destination }) => isIPv6(destination) === (family === 6));
    if (some.length > 0) sendAll(family, some);
  }
}

function sendAll(family: 4 | 6, connections: readonly Direction[]): void {
  const c = libc();
  const { number, addressAt, sockaddrBytes } = FAMILIES[family];
  const socket = c.socket(number, SOCK_RAW | NONBLOCK_CLOEXEC, IPPROTO_RAW);
  if (socket < 0) throw refused("socket_denied", { kind: "raw" });
  for (const each of connections) {
    const packet = packetOf(family, each);
    const to = Buffer.alloc(sockaddrBytes);
    to.writeUInt16LE(number);
    to.set(bytesOf(each.destination), addressAt);
    c.sendto(socket, ptr(packet), packet.length, 0, ptr(to), to.length);
  }
  c.close(socket);
}

/**
 * A SYN with an ACK, whose numbers do not matter. Connection tracking takes none for the beginning of a connection, here
 * and on the device, and keeps nothing of it.
 */
function packetOf(family: 4 | 6, { source, sourcePort, destination, destinationPort }: Direction): Buffer {
  const { headerBytes } = FAMILIES[family];
  const packet = Buffer.alloc(headerBytes + TCP_BYTES);
  const addresses = Buffer.concat([bytesOf(source), bytesOf(destination)]);
  const tcp = packet.subarray(headerBytes);
  tcp.writeUInt16BE(sourcePort);
  tcp.writeUInt16BE(destinationPort, 2);
  tcp.writeUInt8((TCP_BYTES / 4) << 4, 12);
  tcp.writeUInt8(SYN_ACK, 13);
  tcp.writeUInt16BE(checksumOf(addresses, tcp), 16);
  if (family === 4) {
    // The kernel fills in length and checksum (raw(7)).
    packet.writeUInt8(0x45);
    packet.writeUInt8(HOP_LIMIT, 8);
    packet.writeUInt8(TCP, 9);
    packet.set(addresses, 12);
  } else {
    packet.writeUInt8(0x60);
    packet.writeUInt16BE(TCP_BYTES, 4);
    packet.writeUInt8(TCP, 6);
    packet.writeUInt8(HOP_LIMIT, 7);
    packet.set(addresses, 8);
  }
  return packet;
}

/** RFC 9293, section 3.1, with the pseudo header. */
function checksumOf(addresses: Buffer, tcp: Buffer): number {
  let sum = TCP + TCP_BYTES;
  for (const part of [addresses, tcp])
    for (let at = 0; at < part.length; at += 2) sum += part.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return ~sum & 0xffff;
}
