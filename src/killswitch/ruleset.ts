import { contains, isIpv4, parsePrefix } from "../address.ts";
import type { Lan } from "../network/lan.ts";
import { MAIN_SLOT, MARK_MASK, markOf, REFUSAL_MARK } from "../network/slot.ts";
import { among, byFamily, chain, fromHosts, interfaceOf, isIpv4Prefix, on, outsideOf, set } from "./match.ts";
import type { Exemption, FirewallTunnel, Lookup, Policy } from "./policy.ts";

export const TABLE = "inet portcullis";

/** Replaces the table in one transaction: at no moment is there none, or half of one. */
const REPLACE = `add table ${TABLE}\ndelete table ${TABLE}\n`;

/** The four WireGuard message types with their three reserved zero bytes (WireGuard white paper, 5.4). */
const WIREGUARD = "@th,64,32 { 0x01000000, 0x02000000, 0x03000000, 0x04000000 }";
const NDP =
  "icmpv6 type { nd-router-solicit, nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert } ip6 hoplimit 255";
/** Any TCP packet that is not the first of a connection. */
const MID_STREAM = "ct state new tcp flags & (fin | syn | rst | ack) != syn";
/** Of a router with a narrow link behind it: without this the kernel goes on to send what never arrives (RFC 1191, RFC 8201). */
const TOO_LONG = {
  v4: "icmp type destination-unreachable icmp code frag-needed",
  v6: "icmpv6 type packet-too-big",
};
/** Reverse-path filtering looks for the way back by the mark (src_valid_mark), and finds the uplink. */
const TO_UPLINK = `${setMark(markOf(MAIN_SLOT))} comment "the way back is by the uplink"`;
/** No router forwards it (RFC 919, section 7); whoever asks for a lease has no other address yet. */
const BROADCAST = "ip daddr 255.255.255.255";
/** After a switch a connection is a new one, with a new source address: no table of old ones needs flushing. */
const OWN_ZONE = 'comment "a connection belongs to the tunnel it takes"';
const DNS_ZONE = 'comment "a question for a name takes the current tunnel"';
const ENDS_HERE = 'comment "a connection of another tunnel ends here"';
const DNS = "meta l4proto { tcp, udp } th dport 53";
/** The "recursion desired" bit tells a question to a resolver from a resolver's own way down from the root servers. */
const OWN_QUESTION = "udp dport 53 @th,87,1 1";
const ON_LINK = "ip6 daddr { fe80::/10, ff02::/16 }";

/** The kill switch as nftables text for `nft -f -`. */
export function rulesetOf(policy: Policy): string {
  return tableOf([
    rawPrerouting(policy, refuseStrangers(policy)),
    refuseUnrouted(policy),
    ...tunnelChains(policy),
    input(policy),
    forward(policy),
    output(policy),
  ]);
}

/**
 * What a tunnel needs to carry traffic and nothing that blocks: the operator has taken the kill switch down.
 * Without a tunnel there is no table at all.
 */
export function openRulesetOf(policy: Policy): string {
  return policy.endpoints.length === 0 ? REPLACE : tableOf([rawPrerouting(policy), ...tunnelChains(policy)]);
}

function tableOf(chains: readonly string[]): string {
  return `${REPLACE}table ${TABLE} {\n${chains.join("\n")}}\n`;
}

/** To this machine. */
function input({ lans, uplink, endpoints, carrying, lookups, exemptions }: Policy): string {
  const links = linksOf(lans, uplink);
  return chain("input", "type filter hook input priority filter; policy drop;", [
    permitLoopback("in"),
    ...lans.flatMap((lan) => [...permitFromLan(lan), permitDhcpQuestions(lan)]),
    ...permitDhcp("in", links),
    ...permitNeighbourDiscovery("in", links),
    ...endpoints.flatMap((tunnel) => permitWireGuard("in", uplink, tunnel)),
    ...endpoints.flatMap((tunnel) => permitTooLong(uplink, tunnel)),
    ...lookupAnswers(uplink, lookups).map(permitLookupAnswer),
    ...exemptionAnswers(uplink, exemptions).map(permitExemptionAnswer),
    ...carrying.map(permitAnswersFromTunnel),
    ...fromPublic(lans).flatMap(refuseRest),
    refuseRestSilently(),
  ]);
}

/** Through this machine. */
function forward({ lans, carrying }: Policy): string {
  const pairs = carrying.flatMap((tunnel) => lans.map((lan) => ({ tunnel, lan })));
  const fromLans = among("iifname", lans.map(interfaceOf));
  return chain("forward", "type filter hook forward priority filter; policy drop;", [
    ...carrying.map(clampSegments),
    ...carrying.map(refuseUntranslated),
    ...fromLans.flatMap((from) =>
      carrying.flatMap((tunnel) =>
        [refuseMidStream(tunnel), ...refuseUnansweredDns(tunnel, lans, "udp dport 53")].map(
          (refusal) => `${from} ${refusal}`,
        ),
      ),
    ),
    ...pairs.flatMap(permitFromLanIntoTunnel),
    ...pairs.map(permitAnswersToLan),
    ...lans.flatMap((lan) => fromHosts(lan)).flatMap(refuseRest),
    refuseStrangersSilently(),
  ]);
}

/** From this machine. */
function output(policy: Policy): string {
  const { lans, uplink, endpoints, carrying, lookups, exemptions } = policy;
  const links = linksOf(lans, uplink);
  return chain("output", "type filter hook output priority filter; policy drop;", [
    permitLoopback("out"),
    ...permitRefusals(lans),
    ...refuseRedirects(),
    ...endpoints.flatMap((tunnel) => permitWireGuard("out", uplink, tunnel)),
    ...permitLookups(uplink, lookups),
    ...permitExemptions(uplink, exemptions),
    ...carrying.slice(0, 1).flatMap((tunnel) => permitRedirectedDns(tunnel, lans)),
    ...lans.flatMap((lan) => [
      ...refuseClearDns(lan),
      ...permitToLan(lan),
      permitDhcpAnswers(lan),
      permitPublicNeighbours(lan),
      permitMdns(lan),
    ]),
    ...permitDhcp("out", links),
    ...permitNeighbourDiscovery("out", links),
    ...permitDhcpRenewal(policy),
    ...carrying.flatMap((tunnel) => [
      refuseUntranslated(tunnel),
      refuseOtherZones(tunnel),
      refuseMidStream(tunnel),
      ...refuseUnansweredDns(tunnel, lans, OWN_QUESTION),
      permitIntoTunnel(tunnel),
    ]),
    ...refuseRest(),
  ]);
}

type Direction = "in" | "out";

function permitLoopback(direction: Direction): string {
  return `${direction === "in" ? "iifname" : "oifname"} "lo" accept comment "this machine itself"`;
}

function permitFromLan(lan: Lan): string[] {
  return fromHosts(lan).map((from) => `${from} accept comment "the LAN may talk to the gateway"`);
}

function permitToLan(lan: Lan): string[] {
  return byFamily("daddr", lan.prefixes).map(
    (to) => `oifname "${lan.interface}" ${to} accept comment "the gateway may talk to the LAN"`,
  );
}

/** Of LAN clients, which have no address yet. */
function permitDhcpQuestions(lan: Lan): string {
  return `iifname "${lan.interface}" udp sport 68 udp dport 67 accept comment "LAN clients ask the gateway for an address"`;
}

function permitDhcpAnswers(lan: Lan): string {
  return `oifname "${lan.interface}" ${BROADCAST} udp sport 67 udp dport 68 accept comment "addresses for LAN clients"`;
}

function permitPublicNeighbours(lan: Lan): string {
  return `oifname "${lan.interface}" icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } ip6 hoplimit 255 accept comment "neighbours that have public addresses too"`;
}

function permitMdns(lan: Lan): string {
  return `oifname "${lan.interface}" ip daddr 224.0.0.251 udp dport 5353 accept comment "mDNS: the gateway's name on the LAN; routers never forward this address"`;
}

/** The gateway's own addresses on its links. */
function permitDhcp(direction: Direction, links: readonly string[]): string[] {
  if (links.length === 0) return [];
  const names = set(links);
  if (direction === "in") {
    return [
      `iifname ${names} udp sport 67 udp dport 68 accept comment "an address for the gateway"`,
      `iifname ${names} ip6 saddr fe80::/10 udp sport 547 udp dport 546 accept comment "DHCPv6"`,
    ];
  }
  return [
    `oifname ${names} ${BROADCAST} udp sport 68 udp dport 67 accept comment "an address for the gateway"`,
    `oifname ${names} ${ON_LINK} udp sport 546 udp dport 547 accept comment "DHCPv6"`,
  ];
}

function permitDhcpRenewal({ uplink, uplinkPrefixes }: Policy): string[] {
  return toEach(uplink, uplinkPrefixes.filter(isIpv4Prefix)).map(
    (server) => `${server} udp sport 68 udp dport 67 accept comment "the lease is renewed"`,
  );
}

function permitNeighbourDiscovery(direction: Direction, links: readonly string[]): string[] {
  if (links.length === 0) return [];
  const where = direction === "in" ? `iifname ${set(links)}` : `oifname ${set(links)} ${ON_LINK}`;
  return [`${where} ${NDP} accept comment "IPv6 neighbours and routers of this link"`];
}

function permitWireGuard(direction: Direction, uplink: string | null, tunnel: FirewallTunnel): string[] {
  return direction === "in"
    ? on("iifname", uplink).map(
        (from) => `${from} ${endpoint("s", tunnel)} ${WIREGUARD} accept comment "WireGuard from the server"`,
      )
    : on("oifname", uplink).map(
        (to) =>
          `${to} ${isMarked(tunnel.mark)} ${endpoint("d", tunnel)} ${WIREGUARD} accept comment "WireGuard to the server"`,
      );
}

/** What a router on the way says of a packet to the server; conntrack may know the flow by a packet of the server's. */
function permitTooLong(uplink: string | null, { endpoint: { address, port } }: FirewallTunnel): string[] {
  const [family, error] = isIpv4(address) ? (["ip", TOO_LONG.v4] as const) : (["ip6", TOO_LONG.v6] as const);
  return on("iifname", uplink).flatMap((from) =>
    [`daddr ${address} ct original proto-dst ${port}`, `saddr ${address} ct original proto-src ${port}`].map(
      (flow) =>
        `${from} ${error} ct state related ct original ${family} ${flow} accept comment "WireGuard's packets are too long for the way"`,
    ),
  );
}

function permitLookups(uplink: string | null, lookups: readonly Lookup[]): string[] {
  return lookups.flatMap(({ resolvers, sourcePort }) =>
    toEach(uplink, resolvers).map(
      (to) => `${to} udp sport ${sourcePort} udp dport 53 accept comment "the lookup of the server's name"`,
    ),
  );
}

function permitLookupAnswer(answer: string): string {
  return `${answer} accept comment "the answer to the lookup"`;
}

function permitExemptions(uplink: string | null, exemptions: readonly Exemption[]): string[] {
  return exemptions.flatMap(({ addresses, port, sourcePort }) =>
    toEach(uplink, addresses).map(
      (to) =>
        `${to} tcp sport ${sourcePort} tcp dport ${port} accept comment "the operator's errand: one connection to one server"`,
    ),
  );
}

function permitExemptionAnswer(answer: string): string {
  return `${answer} accept comment "answers to the operator's errand"`;
}

function permitAnswersFromTunnel(tunnel: FirewallTunnel): string {
  return `iifname "${tunnel.interface}" ct state established,related accept comment "answers from the tunnel"`;
}

function permitIntoTunnel(tunnel: FirewallTunnel): string {
  return `oifname "${tunnel.interface}" accept comment "the gateway's own traffic takes the tunnel"`;
}

interface Pair {
  tunnel: FirewallTunnel;
  lan: Lan;
}

function permitFromLanIntoTunnel({ tunnel, lan }: Pair): string[] {
  return fromHosts(lan, `oifname "${tunnel.interface}" `).map(
    (from) => `${from} accept comment "from the LAN into the tunnel"`,
  );
}

function permitAnswersToLan({ tunnel, lan }: Pair): string {
  return `iifname "${tunnel.interface}" oifname "${lan.interface}" ct state established,related accept comment "and back what belongs to it"`;
}

/** It was meant for a resolver on the LAN, and the output chain still sees that way. */
function permitRedirectedDns(tunnel: FirewallTunnel, lans: readonly Lan[]): string[] {
  return among("oifname", lans.map(interfaceOf)).flatMap((link) =>
    byFamily("daddr", resolversInside(tunnel, lans)).map(
      (to) =>
        `${link} ${to} ct status dnat ${DNS} accept comment "a question to a resolver on the LAN, on its way into the tunnel"`,
    ),
  );
}

/**
 * A neighbour is its own next hop, and a router has a link-local or a private address. A neighbour may lie about that by
 * announcing a prefix of somebody else: the hop limit ends at the first router.
 */
function permitRefusals(lans: readonly Lan[]): string[] {
  const neighbour = `${isMarked(REFUSAL_MARK)} rt ip6 nexthop 2000::/3`;
  const comment = 'comment "a refusal goes to a neighbour on the LAN\'s cable alone"';
  return [
    ...among("oifname", lans.map(interfaceOf)).flatMap((to) => [
      `${to} ${neighbour} tcp flags & rst == rst ip6 hoplimit set 1 accept ${comment}`,
      `${to} ${neighbour} icmpv6 type destination-unreachable ip6 hoplimit set 1 accept ${comment}`,
    ]),
    `${isMarked(REFUSAL_MARK)} drop ${comment}`,
  ];
}

function refuseClearDns(lan: Lan): string[] {
  return byFamily("daddr", lan.prefixes).map(
    (to) =>
      `oifname "${lan.interface}" ${to} meta l4proto { tcp, udp } th dport { 53, 853 } reject comment "a resolver on the LAN asks the internet in clear"`,
  );
}

/** The kernel offers a shorter way before it asks the forward chain; IPv6 has no setting against that. */
function refuseRedirects(): string[] {
  return ["icmp type redirect", "icmpv6 type nd-redirect"].map(
    (redirect) => `${redirect} drop comment "nobody is told of a way past the gateway"`,
  );
}

/** NAT leaves these as they are: a reset of a connection that conntrack does not know, and neighbour discovery. */
function refuseUntranslated(tunnel: FirewallTunnel): string {
  return `oifname "${tunnel.interface}" ct state invalid,untracked drop comment "what NAT does not translate would show its own source address"`;
}

function refuseOtherZones(tunnel: FirewallTunnel): string {
  return `oifname "${tunnel.interface}" ct zone != ${tunnel.zone} drop comment "a refusal to a stranger belongs to the stranger's connection"`;
}

function refuseMidStream(tunnel: FirewallTunnel): string {
  return `oifname "${tunnel.interface}" ${MID_STREAM} reject with tcp reset ${ENDS_HERE}`;
}

/**
 * Questions of the family of which the tunnel names no resolver, where it names one of the other: nobody redirects
 * them, and a client that is refused asks over the other family.
 */
function refuseUnansweredDns(tunnel: FirewallTunnel, lans: readonly Lan[], udpQuestion: string): string[] {
  const families = new Set(resolversInside(tunnel, lans).map((resolver) => (isIpv4(resolver) ? 4 : 6)));
  if (families.size !== 1) return [];
  const match = `oifname "${tunnel.interface}" meta nfproto ${families.has(4) ? "ipv6" : "ipv4"}`;
  const comment = 'comment "the tunnel has no resolver of this family"';
  return [
    `${match} tcp dport 53 reject with tcp reset ${comment}`,
    `${match} ${udpQuestion} reject with icmpx admin-prohibited ${comment}`,
  ];
}

/** At once, so that programs and people see an error and not a time-out. */
function refuseRest(from?: string): string[] {
  const match = from === undefined ? "" : `${from} `;
  const comment = 'comment "everything else is refused at once"';
  return [
    `${match}meta l4proto tcp reject with tcp reset ${comment}`,
    `${match}reject with icmpx admin-prohibited ${comment}`,
  ];
}

/** Strangers get no answer. */
function refuseRestSilently(): string {
  return 'drop comment "a policy takes effect late in a reload; a rule does not"';
}

/** Who is no host of the LAN gets no answer, not even an error: on its way it could take the tunnel. */
function refuseStrangersSilently(): string {
  return 'drop comment "and nobody else is told anything"';
}

function clampSegments(tunnel: FirewallTunnel): string {
  return `oifname "${tunnel.interface}" tcp flags & (syn | rst) == syn tcp option maxseg size set rt mtu comment "segments that fit the tunnel"`;
}

function linksOf(lans: readonly Lan[], uplink: string | null): string[] {
  return [...new Set([...(uplink === null ? [] : [uplink]), ...lans.map(interfaceOf)])];
}

/**
 * A device may find the gateway by a public IPv6 address that both have on the LAN's cable. It is no LAN address, so
 * the device is refused, and at once: else it would wait for neighbour discovery first, or for an answer.
 */
function fromPublic(lans: readonly Lan[]): string[] {
  return among("iifname", lans.map(interfaceOf)).map((from) => `${from} ip6 saddr 2000::/3`);
}

function lookupAnswers(uplink: string | null, lookups: readonly Lookup[]): string[] {
  return lookups.flatMap(({ resolvers, sourcePort }) =>
    fromEach(uplink, resolvers).map((from) => `${from} udp sport 53 udp dport ${sourcePort}`),
  );
}

function exemptionAnswers(uplink: string | null, exemptions: readonly Exemption[]): string[] {
  return exemptions.flatMap(({ addresses, port, sourcePort }) =>
    fromEach(uplink, addresses).map((from) => `${from} tcp sport ${port} tcp dport ${sourcePort}`),
  );
}

function toEach(link: string | null, addresses: readonly string[]): string[] {
  return on("oifname", link).flatMap((to) => byFamily("daddr", addresses).map((whom) => `${to} ${whom}`));
}

function fromEach(link: string | null, addresses: readonly string[]): string[] {
  return on("iifname", link).flatMap((from) => byFamily("saddr", addresses).map((whom) => `${from} ${whom}`));
}

/** What happens to a packet before conntrack sees it: whose it is, and which connection it can belong to. */
function rawPrerouting(
  { lans, uplink, endpoints, carrying, lookups, exemptions }: Policy,
  refused: readonly string[] = [],
): string {
  const fromLans = among("iifname", lans.map(interfaceOf));
  // With one card the errors of LAN clients come in there as well, and those take the tunnel.
  const errors =
    endpoints.length === 0 ? [] : Object.values(TOO_LONG).map((error) => `${error} fib daddr type local`);
  return chain("raw_prerouting", "type filter hook prerouting priority raw; policy accept;", [
    ...byFamily("daddr", [...new Set(endpoints.flatMap((tunnel) => tunnel.addresses))]).map(
      (to) =>
        `iifname != ${set(["lo", ...endpoints.map((tunnel) => tunnel.interface)])} ${to} drop comment "CVE-2019-14899: nobody outside talks to the tunnel's address"`,
    ),
    ...refused,
    ...on("iifname", uplink).flatMap((from) =>
      ["udp sport 67 udp dport 68", ...endpoints.map((tunnel) => endpoint("s", tunnel)), ...errors].map(
        (answer) => `${from} ${answer} ${TO_UPLINK}`,
      ),
    ),
    ...[...lookupAnswers(uplink, lookups), ...exemptionAnswers(uplink, exemptions)].map(
      (answer) => `${answer} ${TO_UPLINK}`,
    ),
    ...carrying.map((tunnel) => `iifname "${tunnel.interface}" ct zone set ${tunnel.zone} ${OWN_ZONE}`),
    ...fromLans.flatMap((from) => [
      ...carrying.map(
        (tunnel) => `${from} fib daddr oifname "${tunnel.interface}" ct zone set ${tunnel.zone} ${OWN_ZONE}`,
      ),
      ...carrying
        .slice(0, 1)
        .map(
          (tunnel) =>
            `${from} ${isMarked(REFUSAL_MARK, "!=")} ${DNS} fib daddr type local ct zone set ${tunnel.zone} ${DNS_ZONE}`,
        ),
    ]),
  ]);
}

/**
 * Packets for elsewhere that nobody of the LAN has sent. Before the forward chain sees one the kernel may have
 * answered it: where no route leads, where its hops are at an end, where it is too long for the next link.
 */
function refuseStrangers({ lans, endpoints }: Policy): string[] {
  const known = ["lo", ...lans.map(interfaceOf), ...endpoints.map((tunnel) => tunnel.interface)];
  const elsewhere = "fib daddr type != { local, broadcast, multicast }";
  return [
    `iifname != ${set(known)} ${elsewhere} drop comment "no router for strangers"`,
    ...lans.flatMap((lan) =>
      outsideOf("saddr", lan.prefixes).map(
        (stranger) =>
          `iifname "${lan.interface}" ${stranger} ${elsewhere} drop comment "no router for strangers on the LAN's cable"`,
      ),
    ),
    ...fromPublic(lans).flatMap((from) => [
      `${from} fib daddr type local ${setMark(REFUSAL_MARK)} comment "it is refused, by the LAN's cable"`,
      `${from} icmpv6 type nd-neighbor-solicit ${setMark(REFUSAL_MARK)} fib saddr . mark . iif oif missing drop comment "no neighbour of that cable: a router might take the answer on"`,
    ]),
    ...endpoints.flatMap((tunnel) =>
      outsideOf("daddr", tunnel.addresses).map(
        (other) => `iifname "${tunnel.interface}" ${other} drop comment "no router for the tunnel's server"`,
      ),
    ),
  ];
}

/** Routing refuses with ICMP alone, a few a second; a client that opens many connections would see time-outs. */
function refuseUnrouted({ lans }: Policy): string {
  // Where no route leads is "unicast" to the kernel for IPv4, and "unreachable" for IPv6.
  const elsewhere = "fib daddr type { unicast, unreachable } fib daddr oif missing";
  return chain(
    "refuse_unrouted",
    "type filter hook prerouting priority filter; policy accept;",
    among("iifname", lans.map(interfaceOf)).flatMap((from) => [
      `${from} ${elsewhere} meta l4proto tcp reject with tcp reset comment "no tunnel leads there"`,
      `${from} ${elsewhere} reject with icmpx admin-prohibited comment "no tunnel leads there"`,
    ]),
  );
}

function tunnelChains(policy: Policy): string[] {
  const { lans } = policy;
  const carrying = policy.carrying.map((tunnel) => ({ ...tunnel, resolvers: resolversInside(tunnel, lans) }));
  const names = lans.map(interfaceOf);
  const [fromLans, toLans] = [among("iifname", names), among("oifname", names)];
  const [current] = carrying;
  if (current === undefined) return [];
  return [
    chain("raw_output", "type filter hook output priority raw; policy accept;", [
      ...carrying.map((tunnel) => `oifname "${tunnel.interface}" ct zone set ${tunnel.zone} ${OWN_ZONE}`),
      ...toLans.map((to) => `${to} ${DNS} ct zone set ${current.zone} ${DNS_ZONE}`),
    ]),
    chain("redirect_dns", "type nat hook prerouting priority dstnat; policy accept;", [
      `${DNS} fib daddr type local socket wildcard { 0, 1 } return comment "a resolver of the gateway's own stays in charge"`,
      ...fromLans.flatMap((from) =>
        carrying.flatMap((tunnel) => redirect(tunnel, `${from} ct zone ${tunnel.zone} ${DNS}`)),
      ),
    ]),
    chain("redirect_own_dns", "type nat hook output priority -100; policy accept;", [
      ...policy.lookups.map(
        ({ sourcePort }) =>
          `udp sport ${sourcePort} udp dport 53 return comment "the lookup of the server's name"`,
      ),
      ...carrying.flatMap((tunnel) => redirect(tunnel, `oifname "${tunnel.interface}" ${OWN_QUESTION}`)),
      ...toLans.flatMap((to) => redirect(current, `${to} ${DNS}`)),
    ]),
    chain("keep_dns_inside", "type filter hook postrouting priority filter; policy accept;", [
      // The output chain still sees the interface from before the redirection; here it is the true one.
      `oifname != ${set(["lo", ...carrying.map((tunnel) => tunnel.interface)])} ct status dnat ${DNS} drop comment "a redirected question leaves by the tunnel or not at all"`,
    ]),
    chain("source_nat", "type nat hook postrouting priority srcnat; policy accept;", [
      ...carrying.map(
        (tunnel) =>
          `oifname "${tunnel.interface}" masquerade comment "the server knows the tunnel's address alone"`,
      ),
    ]),
  ];
}

/** A resolver with an address of the LAN would be asked in clear. */
function resolversInside({ resolvers }: FirewallTunnel, lans: readonly Lan[]): string[] {
  const prefixes = lans.flatMap((lan) => lan.prefixes).map(parsePrefix);
  return resolvers.filter(
    (resolver) => !prefixes.some((prefix) => prefix !== null && contains(prefix, resolver)),
  );
}

function redirect(tunnel: FirewallTunnel, match: string): string[] {
  const v4 = tunnel.resolvers.find(isIpv4);
  const v6 = tunnel.resolvers.find((resolver) => !isIpv4(resolver));
  return [
    ...(v4 ? [`meta nfproto ipv4 ${match} dnat ip to ${v4} comment "the tunnel's resolver answers"`] : []),
    ...(v6 ? [`meta nfproto ipv6 ${match} dnat ip6 to ${v6} comment "the tunnel's resolver answers"`] : []),
  ];
}

function endpoint(direction: "s" | "d", { endpoint: { address, port } }: FirewallTunnel): string {
  return `${isIpv4(address) ? "ip" : "ip6"} ${direction}addr ${address} udp ${direction}port ${port}`;
}

/** Bits of other programs may be set beside ours. */
function isMarked(mark: number, operator: "==" | "!=" = "=="): string {
  return `meta mark & ${hex(MARK_MASK)} ${operator} ${hex(mark)}`;
}

/** Leaves the bits of other programs as they are. */
function setMark(mark: number): string {
  return `meta mark set meta mark & ${hex(~MARK_MASK)} | ${hex(mark)}`;
}

function hex(bits: number): string {
  return `0x${(bits >>> 0).toString(16).padStart(8, "0")}`;
}
