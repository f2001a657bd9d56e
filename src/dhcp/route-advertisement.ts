import { type Address, addressOf, bytesOf, lengthOf, networkOf, type Prefix } from "../base/address.ts";
import { icmpv6Packet } from "../network/icmpv6.ts";

/** The facts about the link on which an advertisement is sent. */
interface Sender {
  mac: string;
  /** A link-local address: the router that devices use. */
  address: Address;
}

/** RFC 4861, sections 4.2, 4.6.1 and 4.6.2; RFC 4191, sections 2.2 and 2.3; RFC 8106, section 5.1. */
const ADVERTISEMENT = 134;
const [SOURCE_OPTION, PREFIX_OPTION, ROUTE_OPTION, RESOLVER_OPTION] = [1, 3, 24, 25];
const [HIGH_PREFERENCE, ON_LINK_AND_AUTONOMOUS] = [0x08, 0xc0];
const ALL_NODES = "ff02::1";
/** The same as dnsmasq's, because the routers of a link must agree (RFC 4861, section 6.2.7). */
const DEVICES_HOP_LIMIT = 64;
/** Both halves of the address space, because longer prefixes precede a default route. */
const HALVES = [0x00, 0x80];

/**
 * A router advertisement with a route to each half of the address space. NetworkManager and older versions of
 * systemd-networkd make one route of all default routers, whatever their preference, but a longer prefix comes first.
 * If an address of this machine has `ended`, devices no longer use it as resolver, nor its prefix for new connections.
 */
export function routeAdvertisement(
  { mac, address }: Sender,
  lifetimeS: number,
  ended: Prefix | null = null,
): Uint8Array {
  const message = Buffer.alloc(16);
  message.set([ADVERTISEMENT, 0, 0, 0, DEVICES_HOP_LIMIT, HIGH_PREFERENCE]);
  message.writeUInt16BE(lifetimeS, 6);
  const source = Buffer.from(
    `${Buffer.from([SOURCE_OPTION, 1]).toString("hex")}${mac.replaceAll(":", "")}`,
    "hex",
  );
  const routes = HALVES.map((half) => routeTo(half, lifetimeS));
  return icmpv6Packet(address, ALL_NODES, Buffer.concat([message, source, ...routes, ...endOf(ended)]));
}

/** With lifetimes of 0. A device keeps an address that it has for at most two hours (RFC 4862, section 5.5.3). */
function endOf(ended: Prefix | null): Buffer[] {
  if (ended === null) return [];
  const prefix = Buffer.alloc(32);
  prefix.set([PREFIX_OPTION, 4, lengthOf(ended), ON_LINK_AND_AUTONOMOUS]);
  prefix.set(bytesOf(addressOf(networkOf(ended))), 16);
  const resolver = Buffer.alloc(24);
  resolver.set([RESOLVER_OPTION, 3]);
  resolver.set(bytesOf(addressOf(ended)), 8);
  return [prefix, resolver];
}

function routeTo(half: number, lifetimeS: number): Buffer {
  const option = Buffer.alloc(16);
  option.set([ROUTE_OPTION, 2, 1, HIGH_PREFERENCE]);
  option.writeUInt32BE(lifetimeS, 4);
  option.writeUInt8(half, 8);
  return option;
}
