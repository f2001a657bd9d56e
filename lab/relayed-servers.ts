import { readFileSync, writeFileSync } from "node:fs";
import type { VpnServer } from "../src/sandbox/server.ts";
import { VPN, VPN_PORT } from "../src/sandbox/topology.ts";
import type { WireguardEndpoint } from "./frame.ts";
import type { Lab } from "./lab.ts";
import { startLwo } from "./lwo.ts";
import { startUdpOverTcp } from "./udp-over-tcp.ts";

/** As at Mullvad's servers, the first to be tried first. */
export const UDP2TCP_PORTS = [443, 80, 5001];

/** What a sniffer lets pass: relays at these ports. */
export function relaysAt(ports: readonly number[]): WireguardEndpoint[] {
  return Object.values(VPN).flatMap(({ v4 }) =>
    ports.map((port) => ({ address: v4, port, protocol: "tcp" as const })),
  );
}

/** The same for what is in disguise. */
export function disguisedAt(ports: readonly number[]): WireguardEndpoint[] {
  return Object.values(VPN).flatMap(({ v4 }) =>
    ports.map((port) => ({ address: v4, port, protocol: "lwo" as const })),
  );
}

/**
 * Both servers take WireGuard's packets over TCP and with hidden headers, too, and their list says so. Returns what is to
 * be ended.
 */
export async function relayServers(lab: Lab, more: object = {}): Promise<Bun.Subprocess[]> {
  const { managedList } = lab.sandbox.files;
  const list = JSON.parse(readFileSync(managedList, "utf8"));
  for (const server of list.servers) Object.assign(server, { udp2tcp: UDP2TCP_PORTS, lwo: true, ...more });
  writeFileSync(managedList, JSON.stringify(list));
  const { vpn1, vpn2 } = lab.namespaces;
  const started = [];
  for (const [index, namespace] of [vpn1, vpn2].entries()) {
    started.push(await startUdpOverTcp(namespace, VPN_PORT, UDP2TCP_PORTS));
    const { publicKey, managed } = lab.sandbox.servers[index] as VpnServer;
    started.push(await startLwo(namespace, VPN_PORT, { serverKey: publicKey, clientKey: managed.publicKey }));
  }
  return started;
}
