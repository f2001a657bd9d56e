import ipaddr from "ipaddr.js";
import type { Address } from "../address.ts";

/** Of the link that an advertisement is sent on. */
interface Sender {
  mac: string;
  /** Link-local: the router that devices use. */
  address: Address;
}

/** RFC 8200, section 3; RFC 4861, sections 4.2 and 4.6.1; RFC 4191, sections 2.2 and 2.3. */
const [ICMPV6, HOP_LIMIT, ADVERTISEMENT] = [58, 255, 134];
const [SOURCE_OPTION, ROUTE_OPTION, HIGH_PREFERENCE] = [1, 24, 0x08];
const ALL_NODES = "ff02::1";
/** As dnsmasq's: routers of a link agree on it (RFC 4861, section 6.2.7). */
const DEVICES_HOP_LIMIT = 64;
/** Both halves of the address space: longer prefixes than that of a default route. */
const HALVES = [0x00, 0x80];

/**
 * A router advertisement with a route to each half of the address space. NetworkManager and older versions of
 * systemd-networkd make one route of all default routers, whatever their preference, but a longer prefix comes first.
 */
export function routeAdvertisement({ mac, address }: Sender, lifetimeS: number): Uint8Array {
  const message = Buffer.alloc(16);
  message.set([ADVERTISEMENT, 0, 0, 0, DEVICES_HOP_LIMIT, HIGH_PREFERENCE]);
  message.writeUInt16BE(lifetimeS, 6);
  const source = Buffer.from(
    `${Buffer.from([SOURCE_OPTION, 1]).toString("hex")}${mac.replaceAll(":", "")}`,
    "hex",
  );
  const routes = HALVES.map((half) => routeTo(half, lifetimeS));
  return packetOf(address, Buffer.concat([message, source, ...routes]));
}

function routeTo(half: number, lifetimeS: number): Buffer {
  const option = Buffer.alloc(16);
  option.set([ROUTE_OPTION, 2, 1, HIGH_PREFERENCE]);
  option.writeUInt32BE(lifetimeS, 4);
  option.writeUInt8(half, 8);
  return option;
}

function packetOf(from: Address, message: Buffer): Uint8Array {
  const header = Buffer.from([0x60, 0, 0, 0, 0, message.length, ICMPV6, HOP_LIMIT]);
  const addresses = Buffer.from([from, ALL_NODES].flatMap((each) => ipaddr.parse(each).toByteArray()));
  message.writeUInt16BE(checksumOf(Buffer.concat([addresses, message]), message.length), 2);
  return Buffer.concat([header, addresses, message]);
}

/** RFC 8200, section 8.1, of an even number of bytes. */
function checksumOf(bytes: Buffer, length: number): number {
  let sum = length + ICMPV6;
  for (let at = 0; at < bytes.length; at += 2) sum += bytes.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
