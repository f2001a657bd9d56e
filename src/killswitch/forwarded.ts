import { type Address, contains, type Endpoint, familyOf, isLinkLocal } from "../base/address.ts";
import type { Mac } from "../base/mac.ts";
import type { Lan } from "../network/lan.ts";

/** A port that a provider has opened, and the device that it leads to. */
export interface ForwardPart {
  device: Mac;
  /**
   * The tunnel's name, and the endpoint of the server that opened it. At another server the port belongs to someone
   * else.
   */
  tunnel: string;
  endpoint: Endpoint;
  protocol: "tcp" | "udp";
  /** The port of the tunnel's address to which the server sends what arrives. */
  inside: number;
  /** The device's addresses: the first of each family on the LAN is used. */
  addresses: readonly Address[];
  port: number;
}

/** A redirection in the firewall from one interface to one address. */
export interface ForwardedPort {
  interface: string;
  protocol: "tcp" | "udp";
  inside: number;
  to: Address;
  port: number;
}

/** The service at a server that opens ports, for the gateway's own requests inside the tunnel. */
export interface ContactPart {
  tunnel: string;
  endpoint: Endpoint;
  protocol: "tcp" | "udp";
  address: Address;
  port: number;
}

export interface Contact extends Pick<ContactPart, "tunnel" | "protocol" | "address" | "port"> {
  interface: string;
}

interface Carrying {
  tunnel: string;
  interface: string;
  endpoint: Endpoint;
  addresses: readonly Address[];
}

/** The state that decides whether a port is open now. */
interface Ways {
  carrying: readonly Carrying[];
  lans: readonly Lan[];
  /** The gateway's own addresses. */
  addresses: readonly Address[];
  /** Whether a device on that interface goes through that tunnel. */
  leavesBy: (device: Mac, tunnel: string, link: string) => boolean;
}

/**
 * The ports that are open now. The same change of the firewall that ends a port's tunnel, or gives its device another
 * exit, closes the port: replies would go through the new exit.
 */
export function forwardsIn(parts: readonly ForwardPart[], ways: Ways): ForwardedPort[] {
  return parts.flatMap((part) => carryingTo(part, ways).flatMap((tunnel) => ledFrom(tunnel, part, ways)));
}

export function contactsIn(parts: readonly ContactPart[], ways: Pick<Ways, "carrying">): Contact[] {
  const all = parts.flatMap((part) => {
    const { tunnel, protocol, address, port } = part;
    return carryingTo(part, ways).map((on) => ({ tunnel, interface: on.interface, protocol, address, port }));
  });
  return all.filter((each, at) => all.findIndex((other) => Bun.deepEquals(each, other)) === at);
}

function ledFrom(
  tunnel: Carrying,
  { device, protocol, inside, addresses, port }: ForwardPart,
  ways: Ways,
): ForwardedPort[] {
  return ([4, 6] as const).flatMap((family) => {
    const to = addresses.find((each) => familyOf(each) === family && linkOf(each, ways) !== null);
    const link = to === undefined ? null : linkOf(to, ways);
    if (link === null || !ways.leavesBy(device, tunnel.tunnel, link)) return [];
    const isCarried = tunnel.addresses.some((each) => familyOf(each) === family);
    return to === undefined || !isCarried
      ? []
      : [{ interface: tunnel.interface, protocol, inside, to, port }];
  });
}

function carryingTo(
  { tunnel, endpoint }: Pick<ForwardPart, "tunnel" | "endpoint">,
  { carrying }: Pick<Ways, "carrying">,
): Carrying[] {
  return carrying.filter((each) => each.tunnel === tunnel && Bun.deepEquals(each.endpoint, endpoint));
}

/** The LAN's interface that leads to the address; null if none does. */
function linkOf(address: Address, { lans, addresses }: Pick<Ways, "lans" | "addresses">): string | null {
  if (isLinkLocal(address) || addresses.includes(address)) return null;
  const lan = lans.find(({ prefixes }) => prefixes.some((prefix) => contains(prefix, address)));
  return lan?.interface ?? null;
}
