import { readFileSync, writeFileSync } from "node:fs";
import type { VpnServer } from "../../../src/sandbox/server.ts";
import { TUNNEL, VPN, VPN_PORT } from "../../../src/sandbox/topology.ts";
import type { CustomServer, Relayed } from "../../../src/servers/schema.ts";
import type { ListedName } from "../../../src/transports/list.ts";
import type { WireguardEndpoint } from "../tools/frame.ts";
import type { Lab } from "../tools/lab.ts";
import { AMNEZIA_PORT, AMNEZIA_SETTINGS, startAmnezia } from "./amnezia.ts";
import { startLwo } from "./lwo.ts";
import { SHADOWSOCKS_PORT, startShadowsocks } from "./shadowsocks.ts";
import { startUdpOverTcp } from "./udp-over-tcp.ts";

/** As at Mullvad's servers, the first to be tried first. */
export const UDP2TCP_PORTS = [443, 80, 5001];
/** Where a relay sends to, if nothing else answers there first. */
export const RELAY_TARGETS = {
  udp2tcp: { protocol: "tcp", port: 443 },
  lwo: { protocol: "udp", port: VPN_PORT },
  shadowsocks: { protocol: "udp", port: SHADOWSOCKS_PORT },
  amnezia: { protocol: "udp", port: AMNEZIA_PORT },
} as const satisfies Record<Relayed, { protocol: "tcp" | "udp"; port: number }>;
export const RELAYED = ["udp2tcp", "lwo", "shadowsocks"] as const satisfies readonly ListedName[];
/** With the one that no list offers. */
export const TRANSPORTS = [...RELAYED, "amnezia"] as const satisfies readonly Relayed[];

/** What a sniffer lets pass: what relays send to these ports, and the answers. */
export function relaysAt(
  transport: Relayed,
  ports: readonly number[] = transport === "udp2tcp" ? UDP2TCP_PORTS : [RELAY_TARGETS[transport].port],
): WireguardEndpoint[] {
  return Object.values(VPN).flatMap(({ v4 }) => ports.map((port) => ({ address: v4, port, transport })));
}

/**
 * Both servers take WireGuard's packets in each of these ways, too, and their list says so. Returns what is to be ended.
 */
export async function relayServers(
  lab: Lab,
  more: object = {},
  transports: readonly ListedName[] = RELAYED,
): Promise<Bun.Subprocess[]> {
  const offered = {
    udp2tcp: UDP2TCP_PORTS,
    lwo: true,
    shadowsocks: [[SHADOWSOCKS_PORT, SHADOWSOCKS_PORT]],
  };
  const { managedList } = lab.sandbox.files;
  const list = JSON.parse(readFileSync(managedList, "utf8"));
  for (const server of list.servers) {
    for (const transport of transports) server[transport] = offered[transport];
    Object.assign(server, more);
  }
  writeFileSync(managedList, JSON.stringify(list));
  const started = [];
  for (const [index, role] of (["vpn1", "vpn2"] as const).entries()) {
    const [namespace, wireguard] = [lab.namespaces[role], lab.sandbox.serverInterfaces[role]];
    const { publicKey } = lab.sandbox.servers[index] as VpnServer;
    const start = {
      udp2tcp: () => startUdpOverTcp(namespace, VPN_PORT, UDP2TCP_PORTS),
      lwo: () => startLwo(namespace, VPN_PORT, { serverKey: publicKey, wireguard }),
      shadowsocks: () => startShadowsocks(namespace, SHADOWSOCKS_PORT),
    };
    for (const transport of transports) started.push(await start[transport]());
  }
  return started;
}

/**
 * Both servers speak AmneziaWG, too. Returns them as servers of one's own, with the names and keys of the managed ones:
 * what else knows a managed server knows them.
 */
export async function amneziaServers(lab: Lab): Promise<CustomServer[]> {
  const own = [];
  for (const [index, role] of (["vpn1", "vpn2"] as const).entries()) {
    const { hostname, city, country, publicKey, managed } = lab.sandbox.servers[index] as VpnServer;
    const keys = { serverKey: publicKey, clientKey: managed.publicKey };
    await startAmnezia(lab.namespaces[role], VPN_PORT, keys);
    own.push({
      ...{ name: hostname, location: `${city}, ${country}`, endpoint: `${VPN[role].v4}:${AMNEZIA_PORT}` },
      ...{ public_key: publicKey, private_key: managed.privateKey },
      ...{ address: managed.address, dns: TUNNEL.server4, allowed_ips: "0.0.0.0/0,::/0" },
      ...AMNEZIA_SETTINGS,
    });
  }
  return own;
}
