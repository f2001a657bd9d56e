import { ptr } from "bun:ffi";
import { isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";
import { libc, NONBLOCK_CLOEXEC, receivedFrom } from "../../../src/system/libc.ts";

/** From the kernel's headers; the same on ARM and x86. */
const SOCK_RAW = 3;
const FAMILIES = {
  4: { number: 2, protocol: 1, request: 8, reply: 0, errors: [3, 11], addressAt: 4, sockaddrBytes: 16 },
  6: { number: 10, protocol: 58, request: 128, reply: 129, errors: [1, 3], addressAt: 8, sockaddrBytes: 28 },
};
const HEADER_BYTES = 8;
const IP6_HEADER_BYTES = 40;
const LONGEST_BYTES = 2_048;
const MOST_AT_ONCE = 128;

/** What came back to the echo request with this identifier. */
export interface Echo {
  id: number;
  isRefused: boolean;
}

/**
 * ICMP echo requests to one host. Each takes the source address of its own time, as each start of `ping` would, without a
 * process for each.
 */
export class Pinger {
  private readonly family: (typeof FAMILIES)[4 | 6];
  private readonly socket: number;
  private readonly to: Buffer;
  private readonly buffer = Buffer.alloc(LONGEST_BYTES);

  constructor(host: string) {
    this.family = FAMILIES[isIPv6(host) ? 6 : 4];
    const { number, protocol, addressAt, sockaddrBytes } = this.family;
    this.socket = libc().socket(number, SOCK_RAW | NONBLOCK_CLOEXEC, protocol);
    if (this.socket < 0) throw new Error("the kernel permits this program no raw socket");
    this.to = Buffer.alloc(sockaddrBytes);
    this.to.writeUInt16LE(number);
    this.to.set(ipaddr.parse(host).toByteArray(), addressAt);
  }

  /** Whether the kernel has sent it. Connection tracking takes each identifier for a connection of its own. */
  send(id: number, payload: string): boolean {
    const packet = Buffer.alloc(HEADER_BYTES + payload.length);
    packet.writeUInt8(this.family.request);
    packet.writeUInt16BE(id, 4);
    packet.writeUInt16BE(1, 6);
    packet.write(payload, HEADER_BYTES, "latin1");
    // The kernel itself computes that of ICMPv6.
    packet.writeUInt16BE(checksumOf(packet), 2);
    return libc().sendto(this.socket, ptr(packet), packet.length, 0, ptr(this.to), this.to.length) >= 0;
  }

  /** What has come since the last call: answers, and the errors of routers. */
  echoes(): Echo[] {
    const { socket, buffer, family } = this;
    const packets = receivedFrom(socket, { buffer, addressBytes: family.sockaddrBytes, most: MOST_AT_ONCE });
    return [...packets].flatMap(({ bytes }) => {
      const icmp = Buffer.from(family === FAMILIES[4] ? withoutIpHeader(bytes) : bytes);
      const type = icmp[0] ?? 0;
      if (type === family.reply) return echoIn(icmp, false);
      if (!family.errors.includes(type)) return [];
      const quoted = icmp.subarray(HEADER_BYTES);
      const inner = family === FAMILIES[4] ? withoutIpHeader(quoted) : quoted.subarray(IP6_HEADER_BYTES);
      return inner[0] === family.request ? echoIn(Buffer.from(inner), true) : [];
    });
  }
}

function echoIn(icmp: Buffer, isRefused: boolean): Echo[] {
  return icmp.length < HEADER_BYTES ? [] : [{ id: icmp.readUInt16BE(4), isRefused }];
}

/** A raw socket of IPv4 gives the IP header too (raw(7)). */
function withoutIpHeader(packet: Uint8Array): Uint8Array {
  return packet.subarray(((packet[0] ?? 0) & 0xf) * 4);
}

/** RFC 1071. */
function checksumOf(packet: Buffer): number {
  let sum = 0;
  for (let at = 0; at < packet.length; at += 2) sum += at + 1 < packet.length ? packet.readUInt16BE(at) : 0;
  if (packet.length % 2 === 1) sum += (packet.at(-1) ?? 0) << 8;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return ~sum & 0xffff;
}
