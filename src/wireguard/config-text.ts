import { AMNEZIA_NAMES, amneziaKey } from "./amnezia.ts";
import type { StoredConfig } from "./schema.ts";

/** The wg-quick file of a configuration; `parseConfig` returns the same configuration. */
export function formatConfig(config: StoredConfig): string {
  const { interface: own, peer } = config;
  return lines([
    "[Interface]",
    `PrivateKey = ${own.privateKey}`,
    `Address = ${own.addresses.join(", ")}`,
    own.dns.length + own.searchDomains.length > 0 && `DNS = ${[...own.dns, ...own.searchDomains].join(", ")}`,
    own.mtu !== undefined && `MTU = ${own.mtu}`,
    ...AMNEZIA_NAMES.map((name) => {
      const value = own.amnezia?.[name];
      return value !== undefined && `${amneziaKey(name)} = ${value}`;
    }),
    "",
    "[Peer]",
    `PublicKey = ${peer.publicKey}`,
    peer.presharedKey !== undefined && `PresharedKey = ${peer.presharedKey}`,
    `Endpoint = ${formatEndpoint(peer.endpoint.host, peer.endpoint.port)}`,
    `AllowedIPs = ${peer.allowedIps.join(", ")}`,
    peer.persistentKeepalive !== undefined && `PersistentKeepalive = ${peer.persistentKeepalive}`,
  ]);
}

/** `host:port`, with brackets around IPv6: no name has a colon. */
export function formatEndpoint(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The lines that are not false, each with a line end. */
export function lines(all: readonly (string | false)[]): string {
  return all
    .filter((line) => line !== false)
    .map((line) => `${line}\n`)
    .join("");
}
