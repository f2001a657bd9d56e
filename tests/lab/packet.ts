import ipaddr from "ipaddr.js";

export interface Datagram {
  /** Link-layer addresses in hexadecimal. */
  fromMac: string;
  toMac: string;
  from: string;
  to: string;
  sourcePort: number;
  targetPort: number;
  payload: string;
}

const UDP = 17;
const HOP_LIMIT = 64;

/** An Ethernet frame with a UDP datagram, over IPv4 or IPv6 as its addresses are. */
export function datagramFrame(datagram: Datagram): Uint8Array {
  const six = datagram.to.includes(":");
  const udp = udpBytes(datagram);
  const header = six ? ipv6Header(datagram, udp.length) : ipv4Header(datagram, udp.length);
  return ethernet(datagram.toMac, datagram.fromMac, six ? 0x86dd : 0x0800, Buffer.concat([header, udp]));
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

function ipv4Header({ from, to }: Datagram, size: number): Uint8Array {
  const fixed = [Uint8Array.of(0x45, 0), word(20 + size), word(0), word(0), Uint8Array.of(HOP_LIMIT, UDP)];
  const addresses = [addressBytes(from), addressBytes(to)];
  const sum = checksum(Buffer.concat([...fixed, ...addresses]));
  return Buffer.concat([...fixed, word(sum), ...addresses]);
}

function ipv6Header({ from, to }: Datagram, size: number): Uint8Array {
  const fixed = [Uint8Array.of(0x60, 0, 0, 0), word(size), Uint8Array.of(UDP, HOP_LIMIT)];
  return Buffer.concat([...fixed, addressBytes(from), addressBytes(to)]);
}

/** With its checksum, which IPv6 demands (RFC 8200, section 8.1). */
function udpBytes({ from, to, sourcePort, targetPort, payload }: Datagram): Uint8Array {
  const data = Buffer.from(payload);
  const size = 8 + data.length;
  const ports = [word(sourcePort), word(targetPort), word(size)];
  const pseudo = [addressBytes(from), addressBytes(to), word(UDP), word(size)];
  const sum = checksum(Buffer.concat([...pseudo, ...ports, word(0), data]));
  return Buffer.concat([...ports, word(sum), data]);
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
