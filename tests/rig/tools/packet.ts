import ipaddr from "ipaddr.js";

/** From where to where, on the link and on the internet. */
export interface Way {
  /** Link-layer addresses in hexadecimal. */
  fromMac: string;
  toMac: string;
  from: string;
  to: string;
}

export interface Datagram extends Way {
  sourcePort: number;
  targetPort: number;
  payload: string | Uint8Array;
}

/** What is behind the addresses. */
export interface Body {
  protocol: number;
  bytes: Uint8Array;
  hopLimit?: number;
  /** Where these bytes belong in a packet that was taken apart, and whether more follow. */
  fragment?: { offset: number; more: boolean };
}

export const ICMP = 1;
export const TCP = 6;
export const UDP = 17;
export const ICMPV6 = 58;
const HOP_LIMIT = 64;
const IPV6_FRAGMENT = 44;
const FRAGMENT_ID = 0x4242;

/** An Ethernet frame with a UDP datagram, over IPv4 or IPv6 as its addresses are. */
export function datagramFrame(datagram: Datagram): Uint8Array {
  return packetFrame(datagram, { protocol: UDP, bytes: udpBytes(datagram) });
}

/** An Ethernet frame with a packet of any protocol, over IPv4 or IPv6 as its addresses are. */
export function packetFrame(way: Way, body: Body): Uint8Array {
  const six = way.to.includes(":");
  const header = six ? ipv6Header(way, body) : ipv4Header(way, body);
  return ethernet(way.toMac, way.fromMac, six ? 0x86dd : 0x0800, Buffer.concat([header, body.bytes]));
}

/** The same packet in two fragments, of which the first has so many bytes of its body. */
export function fragmentFrames(way: Way, { bytes, ...body }: Body, first: number): Uint8Array[] {
  const parts = [
    { bytes: bytes.subarray(0, first), fragment: { offset: 0, more: true } },
    { bytes: bytes.subarray(first), fragment: { offset: first, more: false } },
  ];
  if (!way.to.includes(":")) return parts.map((part) => packetFrame(way, { ...body, ...part }));
  return parts.map((part) => {
    const { offset, more } = part.fragment;
    const header = [Uint8Array.of(body.protocol, 0), word(offset | Number(more)), word(0), word(FRAGMENT_ID)];
    return packetFrame(way, {
      ...{ ...body, protocol: IPV6_FRAGMENT },
      bytes: Buffer.concat([...header, part.bytes]),
    });
  });
}

/** With the tag of IEEE 802.1Q; 0 is the priority tag, which names no VLAN. */
export function tagged(frame: Uint8Array, vlan: number): Uint8Array {
  return Buffer.concat([frame.subarray(0, 12), word(0x8100), word(vlan), frame.subarray(12)]);
}

/** Without its tag; null for a frame of no VLAN or another one. */
export function untagged(frame: Uint8Array, vlan: number): Uint8Array | null {
  const [type, tag] = [12, 14].map((at) => Buffer.from(frame).readUInt16BE(at));
  if (type !== 0x8100 || ((tag ?? 0) & 0xfff) !== vlan) return null;
  return Buffer.concat([frame.subarray(0, 12), frame.subarray(16)]);
}

/** Who has `wanted`? Asked of everyone on the link (RFC 826). */
export function arpRequest(fromMac: string, from: string, wanted: string): Uint8Array {
  const fixed = Uint8Array.fromHex("0001080006040001");
  const sender = [Uint8Array.fromHex(fromMac), addressBytes(from)];
  const body = Buffer.concat([fixed, ...sender, new Uint8Array(6), addressBytes(wanted)]);
  return ethernet("ffffffffffff", fromMac, 0x0806, body);
}

function ethernet(to: string, from: string, type: number, body: Uint8Array): Uint8Array {
  return Buffer.concat([Uint8Array.fromHex(to), Uint8Array.fromHex(from), word(type), body]);
}

function ipv4Header(
  { from, to }: Ends,
  { protocol, bytes, hopLimit = HOP_LIMIT, fragment }: Body,
): Uint8Array {
  // "Don't fragment": what is too long is told.
  const flags = fragment === undefined ? 0x4000 : (fragment.offset >> 3) | (fragment.more ? 0x2000 : 0);
  const fixed = [
    Uint8Array.of(0x45, 0),
    word(20 + bytes.length),
    word(fragment === undefined ? 0 : FRAGMENT_ID),
    word(flags),
    Uint8Array.of(hopLimit, protocol),
  ];
  const addresses = [addressBytes(from), addressBytes(to)];
  const sum = checksum(Buffer.concat([...fixed, ...addresses]));
  return Buffer.concat([...fixed, word(sum), ...addresses]);
}

function ipv6Header({ from, to }: Ends, { protocol, bytes, hopLimit = HOP_LIMIT }: Body): Uint8Array {
  const fixed = [Uint8Array.of(0x60, 0, 0, 0), word(bytes.length), Uint8Array.of(protocol, hopLimit)];
  return Buffer.concat([...fixed, addressBytes(from), addressBytes(to)]);
}

type Ends = Pick<Way, "from" | "to">;

/** With its checksum, which IPv6 demands (RFC 8200, section 8.1). */
export function udpBytes({ from, to, sourcePort, targetPort, payload }: Omit<Datagram, "fromMac" | "toMac">) {
  const data = bytesOf(payload);
  const head = [word(sourcePort), word(targetPort), word(8 + data.length)];
  return summed({ from, to }, UDP, Buffer.concat([...head, word(0), data]), 6);
}

/** The flags are the header's last byte of them: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32 (RFC 9293, section 3.1). */
export function tcpBytes(
  { from, to, sourcePort, targetPort, payload }: Omit<Datagram, "fromMac" | "toMac">,
  flags: number,
): Uint8Array {
  const numbers = [0x1234, 0x5678, 0x9abc, 0xdef0].map(word);
  const head = [word(sourcePort), word(targetPort), ...numbers, Uint8Array.of(0x50, flags), word(0xffff)];
  return summed({ from, to }, TCP, Buffer.concat([...head, word(0), word(0), bytesOf(payload)]), 16);
}

function bytesOf(payload: Datagram["payload"]): Uint8Array {
  return typeof payload === "string" ? Buffer.from(payload) : payload;
}

/** ICMP or ICMPv6, with four bytes of the type's own and what it carries. */
export function icmpBytes(
  ends: Ends,
  type: number,
  code: number,
  own: number,
  carried: Uint8Array,
): Uint8Array {
  const bytes = Buffer.concat([
    Uint8Array.of(type, code),
    word(0),
    word(own >>> 16),
    word(own & 0xffff),
    carried,
  ]);
  if (ends.to.includes(":")) return summed(ends, ICMPV6, bytes, 2);
  bytes.writeUInt16BE(checksum(bytes), 2);
  return bytes;
}

/** The packet without a frame, as an ICMP error quotes it. */
export function packetBytes(ends: Ends, body: Body): Uint8Array {
  return Buffer.concat([ends.to.includes(":") ? ipv6Header(ends, body) : ipv4Header(ends, body), body.bytes]);
}

/** With the checksum over the addresses too put at `offset`. */
function summed({ from, to }: Ends, protocol: number, bytes: Buffer, offset: number): Uint8Array {
  const pseudo = [addressBytes(from), addressBytes(to), word(protocol), word(bytes.length)];
  bytes.writeUInt16BE(checksum(Buffer.concat([...pseudo, bytes])), offset);
  return bytes;
}

/** RFC 1071. */
function checksum(bytes: Uint8Array): number {
  let sum = 0;
  for (const [index, byte] of bytes.entries()) sum += index % 2 === 0 ? byte << 8 : byte;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

function addressBytes(address: string): Uint8Array {
  return Uint8Array.from(ipaddr.parse(address).toByteArray());
}

function word(value: number): Uint8Array {
  return Uint8Array.of(value >> 8, value & 0xff);
}
