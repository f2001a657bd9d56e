import { type Address, contains, familyOf, isLinkLocal } from "../base/address.ts";
import type { Lan } from "../network/lan.ts";
import { DIRECT_MARK, RELAY_MARK } from "../network/slot.ts";
import { clientLinks, linkNames, remoteLinks } from "./link.ts";
import { among, byFamily, chain, DNS, headerOf, isMarked, namesOf } from "./match.ts";
import { redirectToResolver } from "./own-resolver.ts";
import {
  directDevices,
  directRemotes,
  type FirewallTunnel,
  isAnyDirect,
  MAIN,
  mainTunnels,
  type Policy,
} from "./policy.ts";
import { refuse } from "./strangers.ts";
import { isWireGuards } from "./wireguard-servers.ts";

/** WireGuard's packets to a server on this port have a tunnel's mark. */
const OWN_DNS = `${isWireGuards("!=")} ${DNS}`;
/**
 * The ports of a resolver on the gateway, including TLS and QUIC (RFC 7858, RFC 9250). DNS over HTTPS looks like a
 * page.
 */
export const TO_RESOLVER = "th dport { 53, 853 } meta l4proto { tcp, udp }";
/** The "recursion desired" bit: set in a query to a resolver, clear in a resolver's own queries to name servers. */
const OWN_QUERY = "udp dport 53 @th,87,1 1";

/**
 * A match for the gateway's own queries. A relay may reach its server on this port, too. What has the mark of direct
 * devices would follow it past the tunnel once redirected; the output chain refuses it.
 */
export function ownDns(policy: Policy): string {
  const isRelayed = policy.endpoints.some(({ relay }) => relay !== undefined);
  const others = [...(isRelayed ? [RELAY_MARK] : []), ...(isAnyDirect(policy) ? [DIRECT_MARK] : [])];
  return [OWN_DNS, ...others.map((mark) => isMarked(mark, "!="))].join(" ");
}

/** Redirects the queries of the LAN and of the gateway to the tunnel's resolvers, and keeps them inside the tunnel. */
export function dnsChains(policy: Policy): string[] {
  const { lans, carrying, lookups } = policy;
  // The gateway's own resolver serves the LAN, but not remote devices.
  const clients = policy.resolver === undefined ? clientLinks(policy) : remoteLinks(policy);
  const fromLans = among("iifname", clients);
  const outside = among("oifname", linkNames(policy));
  const current = mainTunnels(policy).slice(0, 1);
  const redirectOn = (tunnels: readonly FirewallTunnel[]) =>
    fromLans.flatMap((from) =>
      tunnels.flatMap((tunnel) => redirect(tunnel, lans, `${from} ct zone ${tunnel.zone} ${DNS}`)),
    );
  return [
    chain("redirect_dns", "type nat hook prerouting priority dstnat; policy accept;", [
      'th dport != 53 accept comment "the others are DNS queries"',
      ...redirectToResolver(policy),
      // A resolver on the gateway queries through main.
      ...redirectDirect(policy),
      ...redirectOn(carrying.filter(({ tunnel }) => tunnel !== MAIN)),
      `${DNS} fib daddr type local socket wildcard { 0, 1 } return comment "queries to a resolver on the gateway are not redirected"`,
      ...redirectOn(mainTunnels(policy)),
    ]),
    chain("redirect_own_dns", "type nat hook output priority -100; policy accept;", [
      ...lookups.map(
        ({ sourcePort }) =>
          `udp sport ${sourcePort} udp dport 53 return comment "DNS lookup of the server's name"`,
      ),
      ...carrying.flatMap((tunnel) => [
        ...toItsResolvers(tunnel, lans),
        ...redirect(tunnel, lans, `oifname "${tunnel.interface}" ${OWN_QUERY}`),
      ]),
      // Queries to a resolver on a LAN, or by a socket that is bound to the uplink, as systemd-resolved sends them to
      // the resolvers of DHCP.
      ...outside.flatMap((to) =>
        current.flatMap((tunnel) => redirect(tunnel, lans, `${to} ${ownDns(policy)}`)),
      ),
    ]),
  ];
}

/** A match for redirected queries, which fails at once for nearly all other packets. */
export const REDIRECTED = "ct status dnat";

/** The output chain still sees the interface from before the redirection, and here it is the actual one. */
export function keepDnsInside(policy: Policy, name: string): string {
  const tunnels = policy.carrying.map((tunnel) => tunnel.interface);
  return chain(name, null, [
    ...among("oifname", tunnels).map((inside) => `${inside} return comment "inside a tunnel"`),
    ...permitDirectDns(policy),
    'oifname "lo" return comment "to the gateway\'s own resolver"',
    `${DNS} drop comment "redirected DNS queries leave only through the tunnel"`,
  ]);
}

/** Queries that were meant for a resolver outside: the output chain still sees the interface that leads to it. */
export function permitRedirectedDns(tunnel: FirewallTunnel, policy: Policy): string[] {
  return among("oifname", linkNames(policy)).flatMap((link) =>
    byFamily("daddr", resolversInside(tunnel, policy.lans)).map(
      (to) =>
        `${link} ${to} ct direction original ct status dnat ${DNS} accept comment "a query to a resolver outside, redirected into the tunnel"`,
    ),
  );
}

/**
 * Queries that were not redirected. A resolver on the gateway queries through main, which is not the exit of these
 * devices.
 */
export function refuseOthersDns(policy: Policy): string[] {
  const others = policy.carrying.filter(({ tunnel }) => tunnel !== MAIN);
  return among("iifname", clientLinks(policy)).flatMap((from) =>
    others.flatMap(({ zone }) =>
      refuse(
        'comment "a resolver on the gateway would query by another exit"',
        `${from} ct zone ${zone} ${TO_RESOLVER} `,
      ),
    ),
  );
}

function permitDirectDns(policy: Policy): string[] {
  if (!isAnyDirect(policy)) return [];
  return among("iifname", clientLinks(policy)).map(
    (from) =>
      `${from} oifname "${policy.uplink}" ${isMarked(DIRECT_MARK)} return comment "queries of direct devices"`,
  );
}

/** Queries of direct devices to the gateway, if the uplink has no resolver of that address family. */
export function refuseDirectDns(policy: Policy): string[] {
  return among("iifname", directLinks(policy)).flatMap((from) =>
    refuse(
      'comment "a resolver on the gateway would query by another exit"',
      `${from} ${isMarked(DIRECT_MARK)} ${TO_RESOLVER} `,
    ),
  );
}

export function refuseClearDns(lan: Lan): string[] {
  return byFamily("daddr", lan.prefixes).map(
    (to) =>
      `oifname "${lan.interface}" ${to} ${TO_RESOLVER} reject comment "a resolver on the LAN would query the internet in clear text"`,
  );
}

/**
 * Queries of one family, if the tunnel has resolvers only of the other. Nothing redirects them, and a client that is
 * refused tries the other family.
 */
export function refuseUnansweredDns(
  hook: "forward" | "output",
  tunnel: FirewallTunnel,
  lans: readonly Lan[],
): string[] {
  const families = new Set(resolversInside(tunnel, lans).map(familyOf));
  if (families.size !== 1) return [];
  const match = `meta nfproto ${families.has(4) ? "ipv6" : "ipv4"}`;
  const comment = 'comment "the tunnel has no resolver for this address family"';
  return [
    `${match} tcp dport 53 reject with tcp reset ${comment}`,
    `${match} ${hook === "output" ? OWN_QUERY : "udp dport 53"} reject with icmpx admin-prohibited ${comment}`,
  ];
}

/** Of several resolvers, each is asked where it is: the first one may be silent. */
function toItsResolvers(tunnel: FirewallTunnel, lans: readonly Lan[]): string[] {
  const resolvers = resolversInside(tunnel, lans);
  return ([4, 6] as const).flatMap((family) => {
    const own = resolvers.filter((address) => familyOf(address) === family);
    return own.length < 2
      ? []
      : byFamily("daddr", own).map(
          (to) =>
            `oifname "${tunnel.interface}" ${to} udp dport 53 return comment "queries to the tunnel's resolvers"`,
        );
  });
}

function redirect(tunnel: FirewallTunnel, lans: readonly Lan[], match: string): string[] {
  return redirectTo(resolversInside(tunnel, lans), match, "the tunnel's resolver");
}

/** Applies only to queries to the gateway itself: a direct device may use any other resolver. */
function redirectDirect(policy: Policy): string[] {
  return among("iifname", directLinks(policy)).flatMap((from) =>
    redirectTo(
      resolversOutside(policy),
      `${from} ${isMarked(DIRECT_MARK)} fib daddr type local ${DNS}`,
      "the uplink's resolver",
    ),
  );
}

/** The interfaces from which packets of direct devices come. */
function directLinks(policy: Policy): string[] {
  const { lans, remote } = policy;
  return [
    ...(directDevices(policy).length === 0 ? [] : namesOf(lans)),
    ...(remote === undefined || directRemotes(policy).length === 0 ? [] : [remote.interface]),
  ];
}

function redirectTo(resolvers: readonly Address[], match: string, which: string): string[] {
  return ([4, 6] as const).flatMap((family) => {
    const resolver = resolvers.find((address) => familyOf(address) === family);
    if (resolver === undefined) return [];
    return [
      `meta nfproto ipv${family} ${match} dnat ${headerOf(family)} to ${resolver} comment "redirected to ${which}"`,
    ];
  });
}

/** Leaves out this machine's own addresses, and hosts on a LAN that the uplink does not lead to. */
function resolversOutside({ resolvers, lans, uplink, addresses }: Policy): Address[] {
  const elsewhere = lans.filter((lan) => lan.interface !== uplink).flatMap(({ prefixes }) => prefixes);
  return resolvers.filter(
    (resolver) =>
      !isLinkLocal(resolver) &&
      !addresses.includes(resolver) &&
      !elsewhere.some((prefix) => contains(prefix, resolver)),
  );
}

/** Leaves out those with an address of the LAN: they would be queried in clear text, outside the tunnel. */
function resolversInside({ resolvers }: FirewallTunnel, lans: readonly Lan[]): Address[] {
  const prefixes = lans.flatMap((lan) => lan.prefixes);
  return resolvers.filter((resolver) => !prefixes.some((prefix) => contains(prefix, resolver)));
}
