import { bytesOf, mustParseAddress } from "../base/address.ts";

/** RFC 8200, section 3. The hop limit proves that a packet comes from the link itself (RFC 4861, section 11.2). */
export const [HEADER_BYTES, ICMPV6, HOP_LIMIT] = [40, 58, 255];

/** An IPv6 packet with a message, whose place for the checksum is 0, between two addresses. */
export function icmpv6Packet(from: string, to: string, message: Uint8Array): Uint8Array {
  const header = Buffer.from([0x60, 0, 0, 0, 0, message.length, ICMPV6, HOP_LIMIT]);
  const addresses = Buffer.concat([from, to].map((each) => bytesOf(mustParseAddress(each))));
  const packet = Buffer.concat([header, addresses, message]);
  const sum = checksumOf(addresses, message);
  packet.writeUInt16BE(sum, HEADER_BYTES + 2);
  return packet;
}

/** RFC 8200, section 8.1. The result is 0 if the message has the right checksum in its place. */
export function checksumOf(addresses: Uint8Array, message: Uint8Array): number {
  let sum = message.length + ICMPV6;
  for (const bytes of [addresses, message])
    for (let at = 0; at < bytes.length; at += 1) sum += (bytes[at] ?? 0) << (at % 2 === 0 ? 8 : 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
