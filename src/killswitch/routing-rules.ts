import { type Address, addressOf, familyOf, isLinkLocal, type Prefix, prefixOf } from "../base/address.ts";
import type { HostNetwork, Ipv6 } from "../network/host-network.ts";
import {
  ANY_EXIT_MASK,
  ANY_SLOT_MASK,
  DIRECT_MARK,
  exitMarkOf,
  LAN_TABLE,
  MAIN_SLOT,
  MARK_MASK,
  MAX_TUNNELS,
  markOf,
  REFUSAL_MARK,
  ROUTED_TABLE,
  tableOf,
} from "../network/slot.ts";
import { type Exemption, isAnyDirect, type Lookup, type Policy } from "./policy.ts";

/** No link has more addresses than the largest private network. */
const SHORTEST_LINK_PREFIX = 8;

/**
 * The second layer: routing that blocks on its own. Only WireGuard's own packets, DHCP renewals and traffic to the LAN
 * use the machine's own routes. A client's packet uses the table of the tunnel that the firewall has marked it for, and
 * the gateway's own uses main's; everything else is unreachable. A route that DHCP or an attacker adds (CVE-2024-3661)
 * is in a table that is never used for a client's packet. `iif lo` matches what this machine itself sends, so no client's
 * packet can match an exception.
 */
export interface Rule {
  family: 4 | 6;
  priority: number;
  /** What `ip rule` prints for the selector and the action, in `ip rule add` syntax. */
  text: string;
}

/** By number: without /etc/protocols (Debian's netbase) `ip` does not know the names. */
export const UDP = 17;
export const TCP = 6;

/**
 * The order matters. Nearly all packets have an exit's mark, and each rule that one passes takes it time, so these come
 * early.
 */
export const PRIORITY = {
  wireguard: 10,
  markedToRouted: 11,
  markedToLan: 12,
  markedToLanByMain: 13,
  exit: 15,
  noExit: 16,
  noEndpoint: 20,
  exception: 30,
  routed: 35,
  dhcp: 40,
  between: 42,
  lan: 45,
  lanByMain: 50,
  direct: 55,
  noDirect: 57,
  own: 80,
  nothing: 90,
};

/**
 * What the firewall has marked for an exit. Without the firewall nothing is marked, so what comes by a tunnel or the
 * uplink finds no way to the LAN.
 */
export const MARKED = `fwmark ${hex(exitMarkOf(markOf(MAIN_SLOT)))}/${hex(ANY_EXIT_MASK)}`;

/** The rule that leads into the tunnel `main`, as an earlier version had it; today it has `iif lo` too. */
export const INTO_MAIN = `lookup ${tableOf(MAIN_SLOT)}`;

export function rulesFor({
  lans,
  uplink,
  uplinkPrefixes,
  ipv6,
}: Pick<Policy, "lans" | "uplink" | "uplinkPrefixes"> & Pick<HostNetwork, "ipv6">): Rule[] {
  const prefixes = [...new Set(lans.flatMap((lan) => lan.prefixes))];
  const wireguard = `fwmark ${hex(markOf(MAIN_SLOT))}/${hex(ANY_SLOT_MASK)}`;
  const all = ([4, 6] as const).flatMap((family) => [
    { family, priority: PRIORITY.wireguard, text: `${wireguard} iif lo lookup main` },
    // Without a route to the server, WireGuard's packets must not enter their own tunnel.
    { family, priority: PRIORITY.noEndpoint, text: `${wireguard} unreachable` },
    ...prefixes
      .filter((prefix) => familyOf(prefix) === family)
      .flatMap((prefix) => [
        ...toLan(prefix, MARKED, [PRIORITY.markedToLan, PRIORITY.markedToLanByMain]),
        ...toLan(prefix, "iif lo", [PRIORITY.lan, PRIORITY.lanByMain]),
      ]),
    ...Array.from({ length: MAX_TUNNELS }, (_, slot) => ({
      family,
      priority: PRIORITY.exit,
      text: `fwmark ${hex(exitMarkOf(markOf(slot)))}/${hex(MARK_MASK)} lookup ${tableOf(slot)}`,
    })),
    // The firewall's own look-ups match `iif lo`: without this rule they would find main's routes.
    {
      family,
      priority: PRIORITY.noExit,
      text: `fwmark ${hex(exitMarkOf(markOf(MAIN_SLOT)))}/${hex(ANY_SLOT_MASK)} unreachable`,
    },
    { family, priority: PRIORITY.own, text: `iif lo ${INTO_MAIN}` },
    { family, priority: PRIORITY.nothing, text: "unreachable" },
  ]);
  return rulesOn(ipv6, [...all, REFUSALS, ...dhcpRules(uplinkPrefixes, prefixes), ...nexthopRules(uplink)]);
}

/**
 * By the LAN's own table; by the machine's for destinations that it does not have, as at boot, when no table has routes
 * yet. The default route is never used for them. With one card, that route leads to the home router by the LAN's own
 * interface, where the firewall accepts packets for the LAN, so the gateway's answers would go there while it has no
 * address in the prefix.
 */
function toLan(prefix: Prefix, packets: string, [byOwn, byMain]: readonly [number, number]): Rule[] {
  const [family, to] = [familyOf(prefix), `to ${prefix} ${packets}`];
  return [
    ...(isLinkLocal(addressOf(prefix))
      ? []
      : [{ family, priority: byOwn, text: `${to} lookup ${LAN_TABLE}` }]),
    { family, priority: byMain, text: `${to} suppress_prefixlength 0 lookup main` },
  ];
}

/** Rejections use only routes to directly connected prefixes: they must not leave for the internet through a router. */
const REFUSALS: Rule = {
  family: 6,
  priority: PRIORITY.dhcp,
  text: `fwmark ${hex(REFUSAL_MARK)}/${hex(MARK_MASK)} iif lo suppress_prefixlength 63 lookup main`,
};

/**
 * Lets the gateway renew its leases from servers on the uplink's link. A broadcast needs no route, and leases of servers
 * elsewhere are renewed by broadcast.
 */
function dhcpRules(uplinkPrefixes: readonly Prefix[], lanPrefixes: readonly Prefix[]): Rule[] {
  const prefixes = uplinkPrefixes.filter((prefix) => familyOf(prefix) === 4 && !lanPrefixes.includes(prefix));
  const ports = { 4: "sport 68 dport 67", 6: "sport 546 dport 547" };
  const rule = (family: 4 | 6, to: string): Rule => ({
    family,
    priority: PRIORITY.dhcp,
    text: `to ${to} ipproto ${UDP} iif lo ${ports[family]} lookup main`,
  });
  return [...prefixes.map((prefix) => rule(4, prefix)), rule(6, "fe80::/10")];
}

/**
 * The kernel accepts a route through a router only if these rules lead to the router's address. Without this rule DHCP
 * could not restore the IPv4 default route after the uplink was away. It applies to what is bound to the uplink's
 * interface, and to destinations on its link: a prefix shorter than that of any link (/8) is an attacker's.
 */
function nexthopRules(uplink: string | null): Rule[] {
  if (uplink === null) return [];
  const text = `oif ${uplink} suppress_prefixlength ${SHORTEST_LINK_PREFIX - 1} lookup main`;
  return [{ family: 4, priority: PRIORITY.dhcp, text }];
}

/**
 * Replies to networks behind other routers of the LAN use a separate table. It has an answer for each address of these
 * networks, and for no other.
 */
export function routedRules({ routed, remote }: Pick<Policy, "routed" | "remote">): Rule[] {
  const families = new Set(routed.map(({ prefix }) => familyOf(prefix)));
  const others = ["iif lo", ...(remote === undefined ? [] : [`iif ${remote.interface}`])];
  return [...families].flatMap((family) => [
    { family, priority: PRIORITY.markedToRouted, text: `${MARKED} lookup ${ROUTED_TABLE}` },
    ...others.map((from) => ({ family, priority: PRIORITY.routed, text: `${from} lookup ${ROUTED_TABLE}` })),
  ]);
}

/** A rule that a stopped service may have left, and that leads nowhere but to the LAN or to remote devices. */
export function isRoutedRule({ priority }: Rule): boolean {
  return priority === PRIORITY.routed || priority === PRIORITY.markedToRouted;
}

/** A kernel without IPv6 has no IPv6 rules, and refuses to add one. */
export function rulesOn(ipv6: Ipv6, rules: readonly Rule[]): Rule[] {
  return rules.filter((rule) => rule.family === 4 || ipv6 !== "missing");
}

/** The rules that block. */
const BARRIER: readonly number[] = [PRIORITY.noDirect, PRIORITY.noExit, PRIORITY.nothing];

/** The rules without what blocks, for a tunnel while the operator has turned the kill switch off. */
export function withoutBarrier(rules: readonly Rule[]): Rule[] {
  return rules.filter((rule) => !isBarrier(rule));
}

export function isBarrier({ priority }: Rule): boolean {
  return BARRIER.includes(priority);
}

/**
 * The rules for direct devices and destinations, and for reverse-path filtering of the replies; none without any. The
 * gateway's own programs do not have their mark.
 */
export function directRules(policy: Policy): Rule[] {
  return isAnyDirect(policy) ? DIRECT_RULES : [];
}

/** Packets without a match in the machine's own routes must not reach the rules of tunnels. */
export const DIRECT_RULES: Rule[] = (["lookup main", "unreachable"] as const).flatMap((action) =>
  ([4, 6] as const).map((family) => ({
    family,
    priority: action === "unreachable" ? PRIORITY.noDirect : PRIORITY.direct,
    text: `fwmark ${hex(DIRECT_MARK)}/${hex(MARK_MASK)} ${action}`,
  })),
);

/** The rules for temporary exceptions outside the tunnel. The kernel refuses a second rule like the first. */
export function exceptionRules({ lookups, exemptions }: Pick<Policy, "lookups" | "exemptions">): Rule[] {
  const rules = [...lookups.flatMap(lookupRules), ...exemptions.flatMap(exemptionRules)];
  return rules.filter((rule, at) => rules.findIndex((other) => sameRule(rule, other)) === at);
}

/** The lookup of a server's name: one UDP source port, to the system's resolvers. */
function lookupRules({ resolvers, sourcePort }: Lookup): Rule[] {
  return resolvers.map((address) =>
    exceptionFor(address, `ipproto ${UDP} iif lo sport ${sourcePort} dport 53`),
  );
}

/** The operator's exemption: one TCP source port, to one server. */
function exemptionRules({ addresses, port, sourcePort }: Exemption): Rule[] {
  return addresses.map((address) =>
    exceptionFor(address, `ipproto ${TCP} iif lo sport ${sourcePort} dport ${port}`),
  );
}

function exceptionFor(address: Address, packets: string): Rule {
  const text = `to ${prefixOf(address)} ${packets} lookup main`;
  return { family: familyOf(address), priority: PRIORITY.exception, text };
}

export function sameRule(a: Rule, b: Rule): boolean {
  return a.family === b.family && a.priority === b.priority && a.text === b.text;
}

function hex(mark: number): string {
  return `0x${mark.toString(16)}`;
}
