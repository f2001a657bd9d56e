import { lines } from "./lines.ts";
import type { VpnServer } from "./server.ts";
import { HOME, INTERNET, LAN, type NetworkCards, ROUTER, TUNNEL, UPLINK } from "./topology.ts";

/**
 * A home router: masquerades IPv4, routes IPv6 unchanged, and forwards DNS queries. If somebody may reach home from
 * outside, its owner has forwarded the port.
 */
export function routerRules(cards: NetworkCards, isHomeOpen: boolean): string {
  const own = ROUTER.lan[cards];
  const gateway = cards === 1 ? LAN.gateway4 : UPLINK.gateway4;
  return natTable(
    [
      ...(isHomeOpen ? [`iifname "wan0" udp dport ${HOME.port} dnat ip to ${gateway}`] : []),
      `iifname "lan0" ip daddr ${own.v4} meta l4proto { tcp, udp } th dport 53 dnat ip to ${INTERNET.dns4}`,
      `iifname "lan0" ip6 daddr ${own.v6} meta l4proto { tcp, udp } th dport 53 dnat ip6 to ${INTERNET.dns6}`,
    ],
    ['oifname "wan0" meta nfproto ipv4 masquerade'],
  );
}

/**
 * A VPN server: masquerades its customers, answers DNS at its resolvers' addresses, and forwards what comes in at the other
 * server's multi-hop port.
 */
export function vpnRules(
  link: string,
  { resolvers }: Pick<VpnServer, "resolvers">,
  exit: Pick<VpnServer, "ipv4" | "port" | "multihopPort">,
): string {
  return natTable(
    [
      `iifname "wan0" udp dport ${exit.multihopPort} dnat ip to ${exit.ipv4}:${exit.port}`,
      `iifname "${link}" ip daddr { ${resolvers.v4.join(", ")} } meta l4proto { tcp, udp } th dport 53 dnat ip to ${INTERNET.dns4}`,
      `iifname "${link}" ip6 daddr { ${resolvers.v6.join(", ")} } meta l4proto { tcp, udp } th dport 53 dnat ip6 to ${INTERNET.dns6}`,
    ],
    [
      `oifname "wan0" ip saddr ${TUNNEL.prefix4} masquerade`,
      `oifname "wan0" ip6 saddr ${TUNNEL.prefix6} masquerade`,
      `oifname "wan0" ip daddr ${exit.ipv4} udp dport ${exit.port} masquerade`,
    ],
  );
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
