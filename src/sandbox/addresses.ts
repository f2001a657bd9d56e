import { type Home, portsOf } from "./cables.ts";
import { lines } from "./lines.ts";
import { PHONE_ADDRESSES } from "./phone.ts";
import { type Computer, INTERNET, LAN, type NetworkCards, ROUTER, TUNNEL, UPLINK, VPN } from "./topology.ts";

/** The `ip -batch` text for each namespace, once the cables exist. */
export function addressesOf(home: Home): [namespace: string, batch: string][] {
  const { namespaces: ns, cards, computers, phone } = home;
  return [
    ...computers.map((each): [string, string] => [each.namespace, computerAddresses(each)]),
    [ns.gateway, gatewayAddresses(cards)],
    [ns.router, routerAddresses(cards)],
    [ns.internet, internetAddresses(phone === null ? [] : ["phone"])],
    ...(phone === null ? [] : [[phone, lines(PHONE_ADDRESSES)] satisfies [string, string]]),
    [ns.vpn1, vpnAddresses(VPN.vpn1)],
    [ns.vpn2, vpnAddresses(VPN.vpn2)],
    [ns.switch, switchPorts(home)],
  ];
}

/**
 * For a namespace in which programs listen before its addresses exist. While it has no address, Linux takes each for a
 * broadcast address and answers from another one (inet_bind() and inet_dev_addr_type()).
 */
export const LOOPBACK_UP = "link set lo up\n";

export function vpnTunnel(link: string): string {
  return lines([
    `address add ${TUNNEL.server4}/24 dev ${link}`,
    `address add ${TUNNEL.server6}/64 dev ${link} nodad`,
    `link set ${link} up`,
  ]);
}

/** Makes a computer look up the gateway's MAC addresses, from which the gateway learns the computer's. */
export function greeting(): string {
  return lines([LAN.gateway4, LAN.gateway6].map((gateway) => `neigh add ${gateway} dev lan0 use`));
}

function computerAddresses({ mac, v4, v6 }: Computer): string {
  return lines([
    "link set lo up",
    `link set lan0 address ${mac}`,
    `address add ${v4}/24 dev lan0`,
    `address add ${v6}/64 dev lan0 nodad`,
    "link set lan0 up",
    `route add default via ${LAN.gateway4}`,
    `route add default via ${LAN.gateway6}`,
  ]);
}

function gatewayAddresses(cards: NetworkCards): string {
  const router = ROUTER.lan[cards];
  const uplink =
    cards === 1
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
    // Includes the interface, as DHCP does, so that the kernel finds the router under the gateway's routing rules too.
    `route add default via ${router.v4} dev ${cards === 1 ? "lan0" : "wan0"}`,
    `route add default via ${router.v6} dev ${cards === 1 ? "lan0" : "wan0"}`,
  ]);
}

function routerAddresses(cards: NetworkCards): string {
  const own = ROUTER.lan[cards];
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
    ...(cards === 1 ? [] : home),
  ]);
}

function internetAddresses(more: readonly string[]): string {
  return lines([
    "link add name backbone type bridge mcast_snooping 0",
    ...["router", "vpn1", "vpn2", ...more].flatMap((port) => [
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

function switchPorts(home: Home): string {
  return lines([
    ...Object.entries(portsOf(home)).flatMap(([name, ports]) => [
      // Long enough that the switch never forgets a port's addresses and floods frames to other ports.
      `link add name ${name} type bridge mcast_snooping 0 ageing_time 100000000`,
      ...ports.flatMap((port) => [`link set dev ${port} master ${name}`, `link set dev ${port} up`]),
      `link set dev ${name} up`,
    ]),
    // Frames for the gateway or the client never appear at the router's port, where the sniffer listens.
    "link set dev router type bridge_slave flood off",
  ]);
}
