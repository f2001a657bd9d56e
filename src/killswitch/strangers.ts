import type { Lan } from "../network/lan.ts";
import { REFUSAL_MARK } from "../network/slot.ts";
import { among, chain, isMarked, namesOf, outsideOf, set, setMark } from "./match.ts";
import type { Policy } from "./policy.ts";

/**
 * Packets to forward that no host of the LAN has sent. They are dropped before routing, because the kernel may answer
 * before the forward chain sees them: no route, hop limit exceeded, packet too long for the next link.
 */
export function dropStrangers({ lans, endpoints }: Policy): string[] {
  const known = ["lo", ...namesOf(lans), ...endpoints.map((tunnel) => tunnel.interface)];
  const elsewhere = "fib daddr type != { local, broadcast, multicast }";
  return [
    `iifname != ${set(known)} ${elsewhere} drop comment "packets from outside the LAN are not forwarded"`,
    ...lans.flatMap((lan) =>
      outsideOf("saddr", lan.prefixes).map(
        (stranger) =>
          `iifname "${lan.interface}" ${stranger} ${elsewhere} drop comment "packets from addresses outside the LAN are not forwarded"`,
      ),
    ),
    ...markPublic(lans),
    ...endpoints.flatMap((tunnel) =>
      outsideOf("daddr", tunnel.addresses).map(
        (other) =>
          `iifname "${tunnel.interface}" ${other} drop comment "the server may send only to the tunnel's address"`,
      ),
    ),
  ];
}

/** Routing rejects with ICMP only, at a few packets a second; a client with many connections would see time-outs. */
export function refuseUnrouted({ lans }: Policy): string {
  // A destination without a route is "unicast" for IPv4 and "unreachable" for IPv6.
  const elsewhere = "fib daddr type { unicast, unreachable } fib daddr oif missing";
  const comment = 'comment "no tunnel has a route to this destination"';
  return chain(
    "refuse_unrouted",
    "type filter hook prerouting priority filter; policy accept;",
    among("iifname", namesOf(lans)).flatMap((from) => [
      `${from} ${elsewhere} meta l4proto tcp reject with tcp reset ${comment}`,
      `${from} ${elsewhere} reject with icmpx admin-prohibited ${comment}`,
    ]),
  );
}

/**
 * A device may look up the gateway's public IPv6 address on the LAN. A public address is not a LAN address, so the
 * device is refused at once instead of waiting for neighbour discovery or an answer.
 */
export function fromPublic(lans: readonly Lan[]): string[] {
  return among("iifname", namesOf(lans)).map((from) => `${from} ip6 saddr 2000::/3`);
}

/**
 * The next hop to a neighbour is its own address; the next hop to a router is link-local or private. A router that
 * announces somebody else's prefix on the LAN can break that, so the hop limit ends at the first router.
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

function markPublic(lans: readonly Lan[]): string[] {
  return fromPublic(lans).flatMap((from) => [
    `${from} fib daddr type local ${setMark(REFUSAL_MARK)} comment "rejected later; the mark routes the rejection back to the LAN"`,
    // The answer to a solicitation in the name of an internet host would be forwarded by a router.
    `${from} icmpv6 type nd-neighbor-solicit ${setMark(REFUSAL_MARK)} fib saddr . mark . iif oif missing drop comment "the sender is not a neighbour on this link"`,
  ]);
}
