import { contains, isIpv4, parsePrefix } from "../address.ts";
import { among, byFamily, chain, fromHosts, interfaceOf, isIpv4Prefix, on, outsideOf, set } from "./match.ts";
import {
  type Exemption,
  type FirewallTunnel,
  FWMARK,
  type Lan,
  type Lookup,
  type Policy,
  REFUSAL_MARK,
} from "./policy.ts";

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
const WAY_BACK = 'comment "the way back is by the uplink"';
/** No router forwards it (RFC 919, section 7); whoever asks for a lease has no other address yet. */
const BROADCAST = "ip daddr 255.255.255.255";
/** After a switch a connection is a new one, with a new source address: no table of old ones needs flushing. */
const OWN_ZONE = 'comment "a connection belongs to the tunnel it takes"';
const DNS_ZONE = 'comment "a question for a name takes the current tunnel"';
const ENDS_HERE = 'comment "a connection of another tunnel ends here"';
const DNS = "meta l4proto { tcp, udp } th dport 53";
/** The "recursion desired" bit tells a question to a resolver from a resolver's own way down from the root servers. */
const OWN_QUESTION = "udp dport 53 @th,87,1 1";
/** The kernel offers a shorter way before it asks the forward chain; IPv6 has no setting against that. */
const REDIRECTS = ["icmp type redirect", "icmpv6 type nd-redirect"];
/** NAT leaves these as they are: a reset of a connection that conntrack does not know, and neighbour discovery. */
const NOT_TRANSLATED =
  'ct state invalid,untracked drop comment "what NAT does not translate would show its own source address"';

/** The kill switch as nftables text for `nft -f -`. */
export function rulesetOf(policy: Policy): string {
  return tableOf([
    marks(policy, foreign(policy)),
    unrouted(policy),
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
  return policy.endpoints.length === 0 ? REPLACE : tableOf([marks(policy), ...tunnelChains(policy)]);
}

function tableOf(chains: readonly string[]): string {
  return `${REPLACE}table ${TABLE} {\n${chains.join("\n")}}\n`;
}

function input(policy: Policy): string {
  const { lans, uplink, endpoints, carrying, lookup, exemption } = policy;
  return chain("input", "type filter hook input priority filter; policy drop;", [
    'iifname "lo" accept comment "this machine itself"',
    ...lans.flatMap((lan) => [
      ...fromHosts(lan).map((from) => `${from} accept comment "the LAN may talk to the gateway"`),
      `iifname "${lan.interface}" udp sport 68 udp dport 67 accept comment "LAN clients ask the gateway for an address"`,
    ]),
    ...linkRules(policy).map((link) => link.input),
    ...on("iifname", uplink).flatMap((from) =>
      endpoints.map(
        (exit) => `${from} ${endpoint("s", exit)} ${WIREGUARD} accept comment "WireGuard from the server"`,
      ),
    ),
    ...on("iifname", uplink).flatMap((from) =>
      endpoints.flatMap((exit) =>
        tooLong(exit).map(
          (error) => `${from} ${error} accept comment "WireGuard's packets are too long for the way"`,
        ),
      ),
    ),
    ...lookupAnswers(uplink, lookup).map((answer) => `${answer} accept comment "the answer to the lookup"`),
    ...exemptionAnswers(uplink, exemption).map(
      (answer) => `${answer} accept comment "answers to the operator's errand"`,
    ),
    ...carrying.map(
      (exit) =>
        `iifname "${exit.interface}" ct state established,related accept comment "answers from the tunnel"`,
    ),
    ...fromPublic(lans).flatMap((from) => refused(`${from} `)),
    'drop comment "a policy takes effect late in a reload; a rule does not"',
  ]);
}

/** Who is no host of the LAN gets no answer, not even an error: on its way it could take the tunnel. */
function forward({ lans, carrying }: Policy): string {
  const pairs = carrying.flatMap((exit) => lans.map((lan) => ({ exit, lan })));
  const fromLan = among("iifname", lans.map(interfaceOf));
  return chain("forward", "type filter hook forward priority filter; policy drop;", [
    ...carrying.map(
      (exit) =>
        `oifname "${exit.interface}" tcp flags & (syn | rst) == syn tcp option maxseg size set rt mtu comment "segments that fit the tunnel"`,
    ),
    ...carrying.map((exit) => `oifname "${exit.interface}" ${NOT_TRANSLATED}`),
    ...fromLan.flatMap((from) =>
      carrying.flatMap((exit) => [
        `${from} oifname "${exit.interface}" ${MID_STREAM} reject with tcp reset ${ENDS_HERE}`,
        ...unansweredQuestions(exit, lans, "udp dport 53").map((question) => `${from} ${question}`),
      ]),
    ),
    ...pairs.flatMap(({ exit, lan }) =>
      fromHosts(lan, `oifname "${exit.interface}" `).map(
        (from) => `${from} accept comment "from the LAN into the tunnel"`,
      ),
    ),
    ...pairs.map(
      ({ exit, lan }) =>
        `iifname "${exit.interface}" oifname "${lan.interface}" ct state established,related accept comment "and back what belongs to it"`,
    ),
    ...lans.flatMap((lan) => fromHosts(lan)).flatMap((from) => refused(`${from} `)),
    'drop comment "and nobody else is told anything"',
  ]);
}

function output(policy: Policy): string {
  const { lans, uplink, endpoints, carrying, lookup, exemption } = policy;
  return chain("output", "type filter hook output priority filter; policy drop;", [
    'oifname "lo" accept comment "this machine itself"',
    ...refusals(lans),
    ...REDIRECTS.map((redirect) => `${redirect} drop comment "nobody is told of a way past the gateway"`),
    ...on("oifname", uplink).flatMap((to) =>
      endpoints.map(
        (exit) =>
          `${to} meta mark ${FWMARK} ${endpoint("d", exit)} ${WIREGUARD} accept comment "WireGuard to the server"`,
      ),
    ),
    ...lookupQuestions(uplink, lookup).map(
      (question) => `${question} accept comment "the lookup of the server's name"`,
    ),
    ...exemptionPackets(uplink, exemption).map(
      (packet) => `${packet} accept comment "the operator's errand: one connection to one server"`,
    ),
    ...among("oifname", lans.map(interfaceOf)).flatMap((lan) =>
      carrying
        .slice(0, 1)
        .flatMap((exit) => byFamily("daddr", resolversInside(exit, lans)))
        .map(
          (to) =>
            `${lan} ${to} ct status dnat ${DNS} accept comment "a question to a resolver on the LAN, on its way into the tunnel"`,
        ),
    ),
    ...lans.flatMap((lan) => lanOutput(lan)),
    ...linkRules(policy).map((link) => link.output),
    ...on("oifname", uplink).flatMap((to) =>
      byFamily("daddr", policy.uplinkPrefixes.filter(isIpv4Prefix)).map(
        (server) => `${to} ${server} udp sport 68 udp dport 67 accept comment "the lease is renewed"`,
      ),
    ),
    ...carrying.flatMap((exit) => [
      `oifname "${exit.interface}" ${NOT_TRANSLATED}`,
      `oifname "${exit.interface}" ct zone != ${exit.zone} drop comment "a refusal to a stranger belongs to the stranger's connection"`,
      `oifname "${exit.interface}" ${MID_STREAM} reject with tcp reset ${ENDS_HERE}`,
      ...unansweredQuestions(exit, lans, OWN_QUESTION),
      `oifname "${exit.interface}" accept comment "the gateway's own traffic takes the tunnel"`,
    ]),
    ...refused(),
  ]);
}

/** Answers at once, so that programs and people see an error and not a time-out. */
function refused(match = ""): string[] {
  const comment = 'comment "everything else is refused at once"';
  return [
    `${match}meta l4proto tcp reject with tcp reset ${comment}`,
    `${match}reject with icmpx admin-prohibited ${comment}`,
  ];
}

/**
 * Questions of the family of which the tunnel names no resolver, where it names one of the other: nobody redirects
 * them, and a client that is refused asks over the other family.
 */
function unansweredQuestions(exit: FirewallTunnel, lans: readonly Lan[], udpQuestion: string): string[] {
  const families = new Set(resolversInside(exit, lans).map((resolver) => (isIpv4(resolver) ? 4 : 6)));
  if (families.size !== 1) return [];
  const match = `oifname "${exit.interface}" meta nfproto ${families.has(4) ? "ipv6" : "ipv4"}`;
  const comment = 'comment "the tunnel has no resolver of this family"';
  return [
    `${match} tcp dport 53 reject with tcp reset ${comment}`,
    `${match} ${udpQuestion} reject with icmpx admin-prohibited ${comment}`,
  ];
}

function lanOutput(lan: Lan): string[] {
  const to = byFamily("daddr", lan.prefixes);
  return [
    ...to.map(
      (prefix) =>
        `oifname "${lan.interface}" ${prefix} meta l4proto { tcp, udp } th dport { 53, 853 } reject comment "a resolver on the LAN asks the internet in clear"`,
    ),
    ...to.map(
      (prefix) => `oifname "${lan.interface}" ${prefix} accept comment "the gateway may talk to the LAN"`,
    ),
    `oifname "${lan.interface}" ${BROADCAST} udp sport 67 udp dport 68 accept comment "addresses for LAN clients"`,
    `oifname "${lan.interface}" icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } ip6 hoplimit 255 accept comment "neighbours that have public addresses too"`,
    `oifname "${lan.interface}" ip daddr 224.0.0.251 udp dport 5353 accept comment "mDNS: the gateway's name on the LAN; routers never forward this address"`,
  ];
}

/**
 * A device may find the gateway by a public IPv6 address that both have on the LAN's cable. It is no LAN address, so
 * the device is refused, and at once: else it would wait for neighbour discovery first, or for an answer.
 */
function fromPublic(lans: readonly Lan[]): string[] {
  return among("iifname", lans.map(interfaceOf)).map((from) => `${from} ip6 saddr 2000::/3`);
}

/** The next hop of a neighbour is its own address, and a router's is a link-local or a private one. */
function refusals(lans: readonly Lan[]): string[] {
  const neighbour = `meta mark ${REFUSAL_MARK} rt ip6 nexthop 2000::/3`;
  const comment = 'comment "a refusal goes to a neighbour on the LAN\'s cable alone"';
  return [
    ...among("oifname", lans.map(interfaceOf)).flatMap((to) => [
      `${to} ${neighbour} tcp flags & rst == rst accept ${comment}`,
      `${to} ${neighbour} icmpv6 type destination-unreachable accept ${comment}`,
    ]),
    `meta mark ${REFUSAL_MARK} drop ${comment}`,
  ];
}

/** What keeps the machine on its links whatever the tunnel does: DHCP and IPv6 neighbour discovery. */
function linkRules({ lans, uplink }: Policy): { input: string; output: string }[] {
  const links = [...new Set([...(uplink === null ? [] : [uplink]), ...lans.map(interfaceOf)])];
  if (links.length === 0) return [];
  const names = set(links);
  const onLink = "ip6 daddr { fe80::/10, ff02::/16 }";
  return [
    {
      input: `iifname ${names} udp sport 67 udp dport 68 accept comment "an address for the gateway"`,
      output: `oifname ${names} ${BROADCAST} udp sport 68 udp dport 67 accept comment "an address for the gateway"`,
    },
    {
      input: `iifname ${names} ip6 saddr fe80::/10 udp sport 547 udp dport 546 accept comment "DHCPv6"`,
      output: `oifname ${names} ${onLink} udp sport 546 udp dport 547 accept comment "DHCPv6"`,
    },
    {
      input: `iifname ${names} ${NDP} accept comment "IPv6 neighbours and routers of this link"`,
      output: `oifname ${names} ${onLink} ${NDP} accept comment "IPv6 neighbours and routers of this link"`,
    },
  ];
}

function lookupQuestions(uplink: string | null, lookup: Lookup | null): string[] {
  if (lookup === null) return [];
  return toEach(uplink, lookup.resolvers).map((to) => `${to} udp sport ${lookup.sourcePort} udp dport 53`);
}

function lookupAnswers(uplink: string | null, lookup: Lookup | null): string[] {
  if (lookup === null) return [];
  return fromEach(uplink, lookup.resolvers).map(
    (from) => `${from} udp sport 53 udp dport ${lookup.sourcePort}`,
  );
}

function exemptionPackets(uplink: string | null, exemption: Exemption | null): string[] {
  if (exemption === null) return [];
  return toEach(uplink, exemption.addresses).map(
    (to) => `${to} tcp sport ${exemption.sourcePort} tcp dport ${exemption.port}`,
  );
}

function exemptionAnswers(uplink: string | null, exemption: Exemption | null): string[] {
  if (exemption === null) return [];
  return fromEach(uplink, exemption.addresses).map(
    (from) => `${from} tcp sport ${exemption.port} tcp dport ${exemption.sourcePort}`,
  );
}

function toEach(link: string | null, addresses: readonly string[]): string[] {
  return on("oifname", link).flatMap((to) => byFamily("daddr", addresses).map((whom) => `${to} ${whom}`));
}

function fromEach(link: string | null, addresses: readonly string[]): string[] {
  return on("iifname", link).flatMap((from) => byFamily("saddr", addresses).map((whom) => `${from} ${whom}`));
}

/** What happens to a packet before conntrack sees it: whose it is, and which connection it can belong to. */
function marks(
  { lans, uplink, endpoints, carrying, lookup, exemption }: Policy,
  dropped: readonly string[] = [],
): string {
  const fromLan = among("iifname", lans.map(interfaceOf));
  const errors = endpoints.length === 0 ? [] : Object.values(TOO_LONG);
  return chain("raw_prerouting", "type filter hook prerouting priority raw; policy accept;", [
    ...byFamily("daddr", [...new Set(endpoints.flatMap((exit) => exit.addresses))]).map(
      (to) =>
        `iifname != ${set(["lo", ...endpoints.map((exit) => exit.interface)])} ${to} drop comment "CVE-2019-14899: nobody outside talks to the tunnel's address"`,
    ),
    ...dropped,
    ...on("iifname", uplink).flatMap((from) =>
      ["udp sport 67 udp dport 68", ...endpoints.map((exit) => endpoint("s", exit)), ...errors].map(
        (answer) => `${from} ${answer} meta mark set ${FWMARK} ${WAY_BACK}`,
      ),
    ),
    ...[...lookupAnswers(uplink, lookup), ...exemptionAnswers(uplink, exemption)].map(
      (answer) => `${answer} meta mark set ${FWMARK} ${WAY_BACK}`,
    ),
    ...carrying.map((exit) => `iifname "${exit.interface}" ct zone set ${exit.zone} ${OWN_ZONE}`),
    ...fromLan.flatMap((from) => [
      ...carrying.map(
        (exit) => `${from} fib daddr oifname "${exit.interface}" ct zone set ${exit.zone} ${OWN_ZONE}`,
      ),
      ...carrying
        .slice(0, 1)
        .map(
          (exit) =>
            `${from} meta mark != ${REFUSAL_MARK} ${DNS} fib daddr type local ct zone set ${exit.zone} ${DNS_ZONE}`,
        ),
    ]),
  ]);
}

/**
 * Packets for elsewhere that nobody of the LAN has sent. Before the forward chain sees one the kernel may have
 * answered it: where no route leads, where its hops are at an end, where it is too long for the next link.
 */
function foreign({ lans, endpoints }: Policy): string[] {
  const known = ["lo", ...lans.map(interfaceOf), ...endpoints.map((exit) => exit.interface)];
  const elsewhere = "fib daddr type != { local, broadcast, multicast }";
  return [
    `iifname != ${set(known)} ${elsewhere} drop comment "no router for strangers"`,
    ...lans.flatMap((lan) =>
      outsideOf("saddr", lan.prefixes).map(
        (stranger) =>
          `iifname "${lan.interface}" ${stranger} ${elsewhere} drop comment "no router for strangers on the LAN's cable"`,
      ),
    ),
    ...fromPublic(lans).map(
      (from) =>
        `${from} fib daddr type local meta mark set ${REFUSAL_MARK} comment "it is refused, by the LAN's cable"`,
    ),
    ...endpoints.flatMap((exit) =>
      outsideOf("daddr", exit.addresses).map(
        (other) => `iifname "${exit.interface}" ${other} drop comment "no router for the tunnel's server"`,
      ),
    ),
  ];
}

/** Routing refuses with ICMP alone, a few a second; a client that opens many connections would see time-outs. */
function unrouted({ lans }: Policy): string {
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
  const carrying = policy.carrying.map((exit) => ({ ...exit, resolvers: resolversInside(exit, lans) }));
  const names = lans.map(interfaceOf);
  const [fromLan, toLan] = [among("iifname", names), among("oifname", names)];
  const [current] = carrying;
  if (current === undefined) return [];
  return [
    chain("raw_output", "type filter hook output priority raw; policy accept;", [
      ...carrying.map((exit) => `oifname "${exit.interface}" ct zone set ${exit.zone} ${OWN_ZONE}`),
      ...toLan.map((to) => `${to} ${DNS} ct zone set ${current.zone} ${DNS_ZONE}`),
    ]),
    chain("redirect_dns", "type nat hook prerouting priority dstnat; policy accept;", [
      `${DNS} fib daddr type local socket wildcard { 0, 1 } return comment "a resolver of the gateway's own stays in charge"`,
      ...fromLan.flatMap((from) =>
        carrying.flatMap((exit) => redirect(exit, `${from} ct zone ${exit.zone} ${DNS}`)),
      ),
    ]),
    chain("redirect_own_dns", "type nat hook output priority -100; policy accept;", [
      ...(policy.lookup === null
        ? []
        : [
            `udp sport ${policy.lookup.sourcePort} udp dport 53 return comment "the lookup of the server's name"`,
          ]),
      ...carrying.flatMap((exit) => redirect(exit, `oifname "${exit.interface}" ${OWN_QUESTION}`)),
      ...toLan.flatMap((to) => redirect(current, `${to} ${DNS}`)),
    ]),
    chain("keep_dns_inside", "type filter hook postrouting priority filter; policy accept;", [
      // The output chain still sees the interface from before the redirection; here it is the true one.
      `oifname != ${set(["lo", ...carrying.map((exit) => exit.interface)])} ct status dnat ${DNS} drop comment "a redirected question leaves by the tunnel or not at all"`,
    ]),
    chain("source_nat", "type nat hook postrouting priority srcnat; policy accept;", [
      ...carrying.map(
        (exit) =>
          `oifname "${exit.interface}" masquerade comment "the server knows the tunnel's address alone"`,
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

function redirect(exit: FirewallTunnel, match: string): string[] {
  const v4 = exit.resolvers.find(isIpv4);
  const v6 = exit.resolvers.find((resolver) => !isIpv4(resolver));
  return [
    ...(v4 ? [`meta nfproto ipv4 ${match} dnat ip to ${v4} comment "the tunnel's resolver answers"`] : []),
    ...(v6 ? [`meta nfproto ipv6 ${match} dnat ip6 to ${v6} comment "the tunnel's resolver answers"`] : []),
  ];
}

/** What a router on the way says of a packet to the server; conntrack may know the flow by a packet of the server's. */
function tooLong({ endpoint: { address, port } }: FirewallTunnel): string[] {
  const [family, error] = isIpv4(address) ? (["ip", TOO_LONG.v4] as const) : (["ip6", TOO_LONG.v6] as const);
  return [
    `${error} ct state related ct original ${family} daddr ${address} ct original proto-dst ${port}`,
    `${error} ct state related ct original ${family} saddr ${address} ct original proto-src ${port}`,
  ];
}

function endpoint(direction: "s" | "d", { endpoint: { address, port } }: FirewallTunnel): string {
  return `${isIpv4(address) ? "ip" : "ip6"} ${direction}addr ${address} udp ${direction}port ${port}`;
}
