import { type Arms, INTERNET, LAN, type Namespaces, ROUTER, TUNNEL, UPLINK, VPN } from "./topology.ts";

/** One cable: a link in one namespace, and its other end in another. */
type Cable = [namespace: string, link: string, otherNamespace: string, otherLink: string];

/** What `ip -batch` does once for the whole box. */
export function cableText(ns: Namespaces, arms: Arms): string {
  return lines(
    cablesOf(ns, arms).map(
      ([a, left, b, right]) => `link add ${left} netns ${a} type veth peer ${right} netns ${b}`,
    ),
  );
}

/** The ends of all cables, by namespace. */
export function linksOf(ns: Namespaces, arms: Arms): Map<string, string[]> {
  const ends = cablesOf(ns, arms).flatMap(([a, left, b, right]) => [
    { namespace: a, link: left },
    { namespace: b, link: right },
  ]);
  const grouped = Map.groupBy(ends, (end) => end.namespace);
  return new Map([...grouped].map(([namespace, group]) => [namespace, group.map((end) => end.link)]));
}

/** What `ip -n NAMESPACE -batch` does in each namespace once the cables are there. */
export function addressesOf(ns: Namespaces, arms: Arms): [namespace: string, batch: string][] {
  return [
    [ns.client, clientAddresses()],
    [ns.gateway, gatewayAddresses(arms)],
    [ns.router, routerAddresses(arms)],
    [ns.internet, internetAddresses()],
    [ns.vpn1, vpnAddresses(VPN.vpn1)],
    [ns.vpn2, vpnAddresses(VPN.vpn2)],
    [ns.switch, switchPorts(arms)],
  ];
}

/** Settings below /proc/sys, made before the links exist, so that links start with them. */
export function sysctlsOf(ns: Namespaces): [namespace: string, settings: string[]][] {
  // Duplicate address detection keeps an IPv6 address unusable for its first second.
  const quick = "net.ipv6.conf.default.accept_dad=0";
  const forward = ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"];
  return [
    [ns.client, [quick]],
    [ns.gateway, [quick, ...forward]],
    [ns.router, [quick, ...forward]],
    [ns.internet, [quick, "net.ipv4.ip_nonlocal_bind=1", "net.ipv6.ip_nonlocal_bind=1"]],
    [ns.vpn1, [quick, ...forward]],
    [ns.vpn2, [quick, ...forward]],
    [ns.switch, ["net.ipv6.conf.default.disable_ipv6=1"]],
  ];
}

/** A home router: hides IPv4 behind its public address, routes IPv6 as it is, and forwards questions for names. */
export function routerRules(arms: Arms): string {
  const own = ROUTER.lan[arms];
  return natTable(
    [
      `iifname "lan0" ip daddr ${own.v4} meta l4proto { tcp, udp } th dport 53 dnat ip to ${INTERNET.dns4}`,
      `iifname "lan0" ip6 daddr ${own.v6} meta l4proto { tcp, udp } th dport 53 dnat ip6 to ${INTERNET.dns6}`,
    ],
    ['oifname "wan0" meta nfproto ipv4 masquerade'],
  );
}

/** A VPN server: its customers share its public addresses, and its tunnel address answers for names. */
export function vpnRules(link: string): string {
  return natTable(
    [
      `iifname "${link}" ip daddr ${TUNNEL.server4} meta l4proto { tcp, udp } th dport 53 dnat ip to ${INTERNET.dns4}`,
      `iifname "${link}" ip6 daddr ${TUNNEL.server6} meta l4proto { tcp, udp } th dport 53 dnat ip6 to ${INTERNET.dns6}`,
    ],
    [
      `oifname "wan0" ip saddr ${TUNNEL.prefix4} masquerade`,
      `oifname "wan0" ip6 saddr ${TUNNEL.prefix6} masquerade`,
    ],
  );
}

export function vpnTunnel(link: string): string {
  return lines([
    `address add ${TUNNEL.server4}/24 dev ${link}`,
    `address add ${TUNNEL.server6}/64 dev ${link} nodad`,
    `link set ${link} up`,
  ]);
}

function cablesOf(ns: Namespaces, arms: Arms): Cable[] {
  const outside: Cable[] = [
    [ns.router, "wan0", ns.internet, "router"],
    [ns.vpn1, "wan0", ns.internet, "vpn1"],
    [ns.vpn2, "wan0", ns.internet, "vpn2"],
    [ns.router, "lan0", ns.switch, "router"],
  ];
  const oneCard: Cable[] = [
    [ns.gateway, "lan0", ns.switch, "gateway"],
    [ns.client, "lan0", ns.switch, "client"],
  ];
  const twoCards: Cable[] = [
    [ns.gateway, "wan0", ns.switch, "gateway"],
    [ns.client, "lan0", ns.gateway, "lan0"],
  ];
  return [...outside, ...(arms === 1 ? oneCard : twoCards)];
}

function clientAddresses(): string {
  return lines([
    "link set lo up",
    `address add ${LAN.client4}/24 dev lan0`,
    `address add ${LAN.client6}/64 dev lan0 nodad`,
    "link set lan0 up",
    `route add default via ${LAN.gateway4}`,
    `route add default via ${LAN.gateway6}`,
  ]);
}

function gatewayAddresses(arms: Arms): string {
  const router = ROUTER.lan[arms];
  const uplink =
    arms === 1
      ? []
      : [
          `address add ${UPLINK.gateway4}/24 dev wan0`,
          `address add ${UPLINK.gateway6}/64 dev wan0 nodad`,
          "link set wan0 up",
        ];
  return lines([
    "link set lo up",
    `address add ${LAN.gateway4}/24 dev lan0`,
    `address add ${LAN.gateway6}/64 dev lan0 nodad`,
    "link set lan0 up",
    ...uplink,
    `route add default via ${router.v4}`,
    `route add default via ${router.v6}`,
  ]);
}

function routerAddresses(arms: Arms): string {
  const own = ROUTER.lan[arms];
  const home = [
    `route add ${LAN.prefix4} via ${UPLINK.gateway4}`,
    `route add ${LAN.prefix6} via ${UPLINK.gateway6}`,
  ];
  return lines([
    "link set lo up",
    `address add ${ROUTER.public4}/24 dev wan0`,
    `address add ${ROUTER.public6}/64 dev wan0 nodad`,
    "link set wan0 up",
    `address add ${own.v4}/24 dev lan0`,
    `address add ${own.v6}/64 dev lan0 nodad`,
    "link set lan0 up",
    ...(arms === 1 ? [] : home),
  ]);
}

function internetAddresses(): string {
  return lines([
    "link set lo up",
    "link add name backbone type bridge mcast_snooping 0",
    ...["router", "vpn1", "vpn2"].flatMap((port) => [
      `link set dev ${port} master backbone`,
      `link set dev ${port} up`,
    ]),
    `address add ${INTERNET.host4}/24 dev backbone`,
    `address add ${INTERNET.dns4}/24 dev backbone`,
    `address add ${INTERNET.host6}/64 dev backbone nodad`,
    `address add ${INTERNET.dns6}/64 dev backbone nodad`,
    "link set backbone up",
    ...homePrefixes6(),
  ]);
}

function vpnAddresses(address: { v4: string; v6: string }): string {
  return lines([
    "link set lo up",
    `address add ${address.v4}/24 dev wan0`,
    `address add ${address.v6}/64 dev wan0 nodad`,
    "link set wan0 up",
    ...homePrefixes6(),
  ]);
}

/** A provider routes a home's IPv6 prefixes to its router; IPv4 has the router's public address instead. */
function homePrefixes6(): string[] {
  return [LAN.prefix6, UPLINK.prefix6].map((prefix) => `route add ${prefix} via ${ROUTER.public6}`);
}

function switchPorts(arms: Arms): string {
  const ports = ["gateway", "router", ...(arms === 1 ? ["client"] : [])].flatMap((port) => [
    `link set dev ${port} master switch`,
    `link set dev ${port} up`,
  ]);
  return lines([
    // Long enough that the switch never forgets who is where and floods one port's frames to another.
    "link add name switch type bridge mcast_snooping 0 ageing_time 100000000",
    ...ports,
    // A frame for the gateway or the client never shows at the router's port, where the sniffer listens.
    "link set dev router type bridge_slave flood off",
    "link set dev switch up",
  ]);
}

function natTable(incoming: string[], outgoing: string[]): string {
  return lines([
    "table inet sandbox {",
    "  chain incoming {",
    "    type nat hook prerouting priority dstnat;",
    ...incoming.map((rule) => `    ${rule}`),
    "  }",
    "  chain outgoing {",
    "    type nat hook postrouting priority srcnat;",
    ...outgoing.map((rule) => `    ${rule}`),
    "  }",
    "}",
  ]);
}

function lines(parts: readonly string[]): string {
  return parts.map((part) => `${part}\n`).join("");
}
