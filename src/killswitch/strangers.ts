import { type Address, contains, familyOf } from "../base/address.ts";
import type { Lan } from "../network/lan.ts";
import { REFUSAL_MARK } from "../network/slot.ts";
import { clientLinks } from "./link.ts";
import { among, anyOf, chain, DNS, isMarked, namesOf, outsideOf, setMark } from "./match.ts";
import { type FirewallTunnel, isAnyDirect, type Policy } from "./policy.ts";

const STRANGERS = "strangers";
const REFUSE_PUBLIC = "refuse_public";
/** All public addresses of IPv6. */
export const PUBLIC = "2000::/3";
/** A NAT chain after the redirection of DNS does not see redirected packets. */
const BEFORE_REDIRECTION = "dstnat - 10";
const ELSEWHERE = "fib daddr type != { local, broadcast, multicast }";

/**
 * Drops packets to forward that no host of the LAN has sent. This happens before routing, because the kernel may answer
 * before the forward chain sees them: no route, hop limit exceeded, packet too long for the next link.
 */
export function dropForwarded(): string {
  return `${ELSEWHERE} drop comment "packets from outside the LAN are not forwarded"`;
}

/** On the LAN's interface. */
export function fromStrangers(lan: Lan, family: 4 | 6): string {
  const stranger = outsideOf("saddr", family, lan.prefixes);
  return `${stranger} jump ${STRANGERS} comment "addresses outside the LAN"`;
}

/**
 * No other host has the gateway's own address. The kernel does not check it on these interfaces, but what it sends to all
 * comes back to it so.
 */
export function dropOwnSources({ prefixes }: Lan, addresses: readonly Address[]): string[] {
  const own = addresses.filter(
    (address) => familyOf(address) === 4 && prefixes.some((prefix) => contains(prefix, address)),
  );
  return own.length === 0
    ? []
    : [
        `ip saddr ${anyOf(own)} fib daddr type != { broadcast, multicast } drop comment "the gateway's own address is nobody else's"`,
      ];
}

/**
 * The same there. Queries of hosts outside the LAN's prefixes, such as those of a network whose route is gone, are
 * dropped whatever their destination: as known connections they would be forwarded, by the exit of the router that
 * forwards them.
 */
export function strangers(): string {
  return chain(STRANGERS, null, [
    `${ELSEWHERE} drop comment "packets from addresses outside the LAN are not forwarded"`,
    `${DNS} drop comment "queries of hosts outside the LAN"`,
  ]);
}

/**
 * A device may have a public address from another router on the same cable, and this gateway as its router. Its packets
 * take rules of their own, so that all others are asked once.
 */
export function toPublic(chain: string): string {
  return `ip6 saddr ${PUBLIC} goto ${chain} comment "a public address is not a LAN address"`;
}

/** Only neighbours get an answer. The mark routes it back on the link that the packet came from. */
export function refusePublic(): string {
  return chain(REFUSE_PUBLIC, null, [
    `${setMark(REFUSAL_MARK)} fib saddr . mark . iif oif missing drop comment "the sender is not a neighbour on this link"`,
    ...refuse('comment "public addresses are not forwarded"'),
  ]);
}

export function dropOtherAddressees(tunnel: FirewallTunnel): string[] {
  return ([4, 6] as const).map((family) => {
    const other = outsideOf("daddr", family, tunnel.addresses);
    return `${other} drop comment "the server may send only to the tunnel's address"`;
  });
}

/**
 * Routing rejects with ICMP only, at a few packets a second, so a client with many connections would see time-outs.
 * Packets without a tunnel are refused before that. A NAT chain sees the first packet of each connection, and no other
 * packet can be without a route.
 */
export function refuseUnrouted(policy: Policy): string[] {
  const { carrying, resolver } = policy;
  if (carrying.length === 0 && !isAnyDirect(policy)) return [];
  const hook = `nat hook prerouting priority ${BEFORE_REDIRECTION}`;
  // A destination without a route is "unicast" for IPv4 and "unreachable" for IPv6.
  const unrouted = "fib daddr . mark oif missing fib daddr type { unicast, unreachable }";
  const comment = 'comment "the exit has no route to this destination"';
  return among("iifname", clientLinks(policy)).flatMap((from) => [
    chain("refuse_unrouted", `type ${hook}; policy accept;`, [
      ...(resolver === undefined
        ? []
        : [`${from} ${DNS} accept comment "queries are for the gateway's own resolver"`]),
      `${from} ${unrouted} goto unrouted ${comment}`,
    ]),
    chain("unrouted", null, refuse(comment)),
  ]);
}

/** Rejected at once, so that programs report an error instead of a time-out. */
export function refuse(comment: string, match = ""): string[] {
  return [
    `${match}meta l4proto tcp reject with tcp reset ${comment}`,
    `${match}reject with icmpx admin-prohibited ${comment}`,
  ];
}

/**
 * A device may look up the gateway's public IPv6 address on the LAN. A public address is not a LAN address, so the
 * device is refused at once instead of waiting for neighbour discovery or an answer.
 */
export function fromPublic(lans: readonly Lan[]): string[] {
  return among("iifname", namesOf(lans)).map((from) => `${from} ip6 saddr ${PUBLIC}`);
}

/**
 * The next hop to a neighbour is its own address; the next hop to a router is link-local or private. A router that
 * announces another network's prefix on the LAN can break that, so the hop limit ends at the first router.
 */
export function permitRefusals(lans: readonly Lan[]): string[] {
  const neighbour = `${isMarked(REFUSAL_MARK)} rt ip6 nexthop 2000::/3`;
  const comment = 'comment "such rejections go only to neighbours on the LAN"';
  return [
    ...among("oifname", namesOf(lans)).flatMap((to) => [
      `${to} ${neighbour} tcp flags & rst == rst ip6 hoplimit set 1 accept ${comment}`,
      `${to} ${neighbour} icmpv6 type destination-unreachable ip6 hoplimit set 1 accept ${comment}`,
    ]),
    `${isMarked(REFUSAL_MARK)} drop ${comment}`,
  ];
}

/**
 * Packets with a public address are refused, so that the device uses IPv4 at once and does not wait for an answer. Those
 * for this machine are marked.
 */
export function markPublic(): string[] {
  return [
    `${ELSEWHERE} goto ${REFUSE_PUBLIC} comment "public addresses are not forwarded"`,
    `fib daddr type local ${setMark(REFUSAL_MARK)} comment "rejected later; the mark routes the rejection back to the LAN"`,
    // A router would forward the answer to a solicitation in the name of an internet host.
    `icmpv6 type nd-neighbor-solicit ${setMark(REFUSAL_MARK)} fib saddr . mark . iif oif missing drop comment "the sender is not a neighbour on this link"`,
  ];
}
