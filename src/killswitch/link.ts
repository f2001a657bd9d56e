import { familyOf, isLinkLocal, networkOf, prefixOf } from "../base/address.ts";
import type { Lan } from "../network/lan.ts";
import { namesOf, set, toEach } from "./match.ts";
import { cabled } from "./mesh.ts";
import type { Policy } from "./policy.ts";

/** DHCPv6 has ports of its own, so a socket at these ports of an IPv6 address is not a client's. */
export const LEASE = "meta nfproto ipv4 udp sport 67 udp dport 68";
const REQUEST = "meta nfproto ipv4 udp sport 68 udp dport 67";
/** Routers do not forward it (RFC 919, section 7). A client that asks for a lease has no other address yet. */
const BROADCAST = "ip daddr 255.255.255.255";
const ON_LINK = ["ip6 daddr fe80::/10", "ip6 daddr ff02::/16"];
const NDP =
  "icmpv6 type { nd-router-solicit, nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert } ip6 hoplimit 255";
const NEIGHBOURS = "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } ip6 hoplimit 255";
/** RFC 4291, section 2.5.1. */
const LINK_PREFIX_LENGTH = 64;

type Links = Pick<Policy, "lans" | "uplink">;

/** The gateway as a client, for the addresses of its own links. */
export function permitDhcp(direction: "in" | "out", links: Links): string[] {
  const names = cableNames(links);
  if (names.length === 0) return [];
  if (direction === "in") {
    return [
      `iifname ${set(names)} ${LEASE} accept comment "DHCP for the gateway's own address"`,
      `iifname ${set(names)} ip6 saddr fe80::/10 udp sport 547 udp dport 546 accept comment "DHCPv6 for the gateway's own address"`,
    ];
  }
  return [
    `oifname ${set(names)} ${BROADCAST} udp sport 68 udp dport 67 accept comment "DHCP for the gateway's own address"`,
    ...ON_LINK.map(
      (onLink) =>
        `oifname ${set(names)} ${onLink} udp sport 546 udp dport 547 accept comment "DHCPv6 for the gateway's own address"`,
    ),
  ];
}

export function permitDhcpRenewal({ uplink, uplinkPrefixes }: Policy): string[] {
  const prefixes = uplinkPrefixes.filter((prefix) => familyOf(prefix) === 4);
  return toEach(uplink, prefixes).map(
    (server) => `${server} udp sport 68 udp dport 67 accept comment "DHCP lease renewal"`,
  );
}

/** The gateway as the server of LAN clients, which have no address yet. */
export function permitDhcpClients(direction: "in" | "out", lan: Lan): string {
  return direction === "in"
    ? `iifname "${lan.interface}" ${REQUEST} accept comment "DHCP requests of LAN clients"`
    : `oifname "${lan.interface}" ${BROADCAST} udp sport 67 udp dport 68 accept comment "DHCP replies to LAN clients"`;
}

export function permitNeighbourDiscovery(direction: "in" | "out", links: Links): string[] {
  const names = cableNames(links);
  if (names.length === 0) return [];
  const where =
    direction === "in"
      ? [`iifname ${set(names)}`]
      : ON_LINK.map((onLink) => `oifname ${set(names)} ${onLink}`);
  return where.map((each) => `${each} ${NDP} accept comment "IPv6 neighbour and router discovery"`);
}

/**
 * A router on the uplink's link may ask with a global address of its own, and is answered there (RFC 4861, section
 * 7.2.4). A LAN already has such rules.
 */
export function permitUplinkNeighbours({ lans, uplink, uplinkAddresses }: Policy): string[] {
  if (namesOf(lans).includes(uplink ?? "")) return [];
  const global = uplinkAddresses.filter((address) => familyOf(address) === 6 && !isLinkLocal(address));
  const prefixes = new Set(global.map((address) => networkOf(prefixOf(address), LINK_PREFIX_LENGTH)));
  return toEach(uplink, [...prefixes]).map(
    (neighbour) =>
      `${neighbour} ${NEIGHBOURS} accept comment "neighbour discovery with the global addresses of the link"`,
  );
}

export function permitPublicNeighbours(lan: Lan): string {
  return `oifname "${lan.interface}" ${NEIGHBOURS} accept comment "neighbour discovery of public addresses"`;
}

export function permitMdns(lan: Lan): string {
  return `oifname "${lan.interface}" ip daddr 224.0.0.251 udp dport 5353 accept comment "mDNS: the gateway's name on the LAN; routers never forward this address"`;
}

export function permitAnnouncements(lan: Lan): string {
  return `oifname "${lan.interface}" ip daddr 224.0.0.1 udp sport 5351 udp dport 5350 accept comment "NAT-PMP: ports may have changed; routers never forward this address"`;
}

/** The interfaces of the devices that have exits: the LAN's, and that of remote devices. */
export function clientLinks(policy: Pick<Policy, "lans" | "remote">): string[] {
  return [...namesOf(policy.lans), ...remoteLinks(policy)];
}

export function remoteLinks({ remote }: Pick<Policy, "remote">): string[] {
  return remote === undefined ? [] : [remote.interface];
}

/** The uplink and the LANs. */
export function linkNames({ lans, uplink }: Links): string[] {
  return [...new Set([...(uplink === null ? [] : [uplink]), ...namesOf(lans)])];
}

/** The same without meshes, which have neither leases nor neighbours. */
function cableNames(links: Links): string[] {
  return linkNames({ ...links, lans: cabled(links) });
}
