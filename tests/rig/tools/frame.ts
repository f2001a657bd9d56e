import ipaddr from "ipaddr.js";
import { isPrivate } from "../../../src/base/address.ts";
import type { Relayed } from "../../../src/servers/schema.ts";
import { ip } from "../../fake/address.ts";
import { markOf } from "./marker.ts";

export interface WireguardEndpoint {
  address: string;
  port: number;
  /**
   * Where a relay of the gateway's may send. Of LWO the mark is judged, of Shadowsocks the size, of AmneziaWG that it is
   * not WireGuard, of a stream nothing.
   */
  transport?: Relayed;
}

export type Finding =
  | { kind: "wireguard" | "arp" | "ndp" | "dhcp" | "mdns" }
  | { kind: "leak"; description: string };

interface Packet {
  from: string;
  to: string;
  protocol: number;
  hopLimit: number;
  fragment: boolean;
  payload: DataView;
}

const PROTOCOLS: Readonly<Record<number, string>> = {
  1: "ICMP",
  2: "IGMP",
  6: "TCP",
  17: "UDP",
  58: "ICMPv6",
};

/** What an Ethernet frame is, judged by its content alone; what it cannot name is a leak. */
export function findingOf(bytes: Uint8Array, endpoints: readonly WireguardEndpoint[]): Finding {
  const frame = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (frame.byteLength < 14) return leak("a frame too short for Ethernet");
  const type = frame.getUint16(12);
  if (type === 0x0806) return { kind: "arp" };
  try {
    if (type === 0x0800) return packetFinding(ipv4(slice(frame, 14)), endpoints);
    if (type === 0x86dd) return packetFinding(ipv6(slice(frame, 14)), endpoints);
  } catch {
    return leak(`a cut packet of Ethernet type 0x${type.toString(16)}`);
  }
  return leak(`Ethernet type 0x${type.toString(16)}`);
}

function packetFinding(packet: Packet, endpoints: readonly WireguardEndpoint[]): Finding {
  const { payload } = packet;
  const protocol = packet.fragment ? null : packet.protocol;
  if (protocol === 17 || protocol === 6) {
    const [source, target] = [payload.getUint16(0), payload.getUint16(2)];
    if (protocol === 17 && isDhcp(packet, source, target)) return { kind: "dhcp" };
    if (protocol === 17 && isNameQuestion(packet, target)) return { kind: "mdns" };
    const known = endpoints.filter(
      ({ address, port }) =>
        (address === packet.to && port === target) || (address === packet.from && port === source),
    );
    if (known.some((endpoint) => isOf(endpoint, protocol, payload))) return { kind: "wireguard" };
  }
  if (!packet.fragment && packet.protocol === 58 && isNeighbour(packet)) return { kind: "ndp" };
  return leak(describe(packet));
}

function isOf({ transport }: WireguardEndpoint, number: 6 | 17, payload: DataView): boolean {
  if (number === 6 || transport === "udp2tcp") return number === 6 && transport === "udp2tcp";
  if (transport === "amnezia") return !isWireguard(payload);
  if (transport === "shadowsocks") return isEncrypted(payload);
  return transport === "lwo" ? isHidden(payload) : isWireguard(payload);
}

/** A salt, an IPv4 address with its port, one of WireGuard's messages, and a tag (SIP004). */
const SHORTEST_ENCRYPTED_BYTES = 32 + 7 + 32 + 16;

function isEncrypted(udp: DataView): boolean {
  return udp.getUint16(4) - 8 >= SHORTEST_ENCRYPTED_BYTES;
}

/** A header that is hidden by LWO says so in its second byte. */
function isHidden(udp: DataView): boolean {
  return udp.getUint16(4) >= 8 + 32 && (udp.getUint8(9) & 0x80) !== 0;
}

/** What the lab's tunnels carry in one packet; one that fills it is not padded to 16 bytes (white paper, 5.4.6). */
const TUNNEL_MTU_BYTES = 1420;

/** The four messages of the WireGuard white paper, section 5.4, with their sizes. */
function isWireguard(udp: DataView): boolean {
  const size = udp.getUint16(4) - 8;
  const type = udp.getUint32(8, true);
  if (type === 1) return size === 148;
  if (type === 2) return size === 92;
  if (type === 3) return size === 64;
  return type === 4 && size >= 32 && (size % 16 === 0 || size === 32 + TUNNEL_MTU_BYTES);
}

/** On the cable: what looks like it and is for the internet is a leak as any other. */
function isDhcp({ from, to }: Packet, source: number, target: number): boolean {
  const ports = [source, target].sort((a, b) => a - b).join();
  if (!from.includes(":")) return ports === "67,68" && (to === "255.255.255.255" || isPrivate(ip(to)));
  return ports === "546,547" && from.startsWith("fe80:") && /^(fe80:|ff02:)/.test(to);
}

/** With one card the home router is a host of the LAN, and is asked for its name as any other (RFC 6762, section 5.5). */
function isNameQuestion({ from, to, hopLimit }: Packet, target: number): boolean {
  const isOnLan = (address: string) => /^(192\.168\.77\.\d+|fd77:.*)$/.test(address);
  return target === 5353 && hopLimit === 255 && isOnLan(from) && isOnLan(to);
}

/** RFC 4861 (neighbours and routers: 133 to 136, never forwarded), RFC 2710 and 3810 (multicast listeners). */
function isNeighbour({ payload, hopLimit }: Packet): boolean {
  const type = payload.getUint8(0);
  if (type >= 133 && type <= 136) return hopLimit === 255;
  return (type >= 130 && type <= 132) || type === 143;
}

function ipv4(packet: DataView): Packet {
  const header = (packet.getUint8(0) & 0x0f) * 4;
  return {
    from: address(packet, 12, 4),
    to: address(packet, 16, 4),
    protocol: packet.getUint8(9),
    hopLimit: packet.getUint8(8),
    fragment: (packet.getUint16(6) & 0x3fff) !== 0,
    payload: slice(packet, header),
  };
}

function ipv6(packet: DataView): Packet {
  let protocol = packet.getUint8(6);
  let offset = 40;
  let fragment = false;
  // Hop-by-hop, routing and destination options, and fragments, stand before the protocol (RFC 8200, section 4).
  while ([0, 43, 44, 60].includes(protocol)) {
    fragment ||= protocol === 44;
    const size = protocol === 44 ? 8 : (packet.getUint8(offset + 1) + 1) * 8;
    protocol = packet.getUint8(offset);
    offset += size;
  }
  return {
    from: address(packet, 8, 16),
    to: address(packet, 24, 16),
    protocol,
    hopLimit: packet.getUint8(7),
    fragment,
    payload: slice(packet, offset),
  };
}

/** One line: `192.168.77.10 > 203.0.113.80 UDP 40000 > 7, 12 bytes`; a marker's packets without a port of their own end with `, d10a`. */
function describe({ from, to, protocol, fragment, payload }: Packet): string {
  const name = PROTOCOLS[protocol] ?? `protocol ${protocol}`;
  const line = `${from} > ${to} ${name}`;
  if (fragment) return `${line} fragment`;
  if (protocol === 6) return `${line} ${payload.getUint16(0)} > ${payload.getUint16(2)}`;
  if (protocol === 17)
    return `${line} ${payload.getUint16(0)} > ${payload.getUint16(2)}, ${payload.getUint16(4) - 8} bytes${labelAt(payload, DNS_NAME)}`;
  if (protocol === 1 || protocol === 58)
    return `${line} type ${payload.getUint8(0)} code ${payload.getUint8(1)}${labelAt(payload, ECHO_DATA)}`;
  return line;
}

/** Where the first label of a question's name is after the headers of UDP and DNS (RFC 1035, section 4.1). */
const DNS_NAME = 8 + 12 + 1;
/** RFC 792 */
const ECHO_DATA = 8;

/** A marker's label, if there is one. */
function labelAt(payload: DataView, offset: number): string {
  if (payload.byteLength < offset + 4) return "";
  const label = Buffer.from(payload.buffer, payload.byteOffset + offset, 4).toString("latin1");
  return markOf(label) === null ? "" : `, ${label}`;
}

function address(packet: DataView, offset: number, size: 4 | 16): string {
  const bytes = new Uint8Array(packet.buffer, packet.byteOffset + offset, size);
  return ipaddr.fromByteArray([...bytes]).toString();
}

function slice(view: DataView, offset: number): DataView {
  return new DataView(view.buffer, view.byteOffset + offset, view.byteLength - offset);
}

function leak(description: string): Finding {
  return { kind: "leak", description };
}
