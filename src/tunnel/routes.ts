import { familyOf, type Prefix } from "../address.ts";
import type { Config } from "../wireguard/schema.ts";

/** What WireGuard adds around a packet over IPv6: 40 + 8 + 32 bytes. */
const WIREGUARD_OVERHEAD_BYTES = 80;
/** The smallest MTU that IPv6 permits (RFC 8200, 5). */
const IPV6_MINIMUM_MTU = 1280;

/** `ip -batch` lines that bring up an existing link with the tunnel's addresses. */
export function linkLines(link: string, config: Config, uplinkMtu: number): string[] {
  const mtu = config.interface.mtu ?? Math.max(uplinkMtu - WIREGUARD_OVERHEAD_BYTES, IPV6_MINIMUM_MTU);
  return [
    // `noprefixroute`: the main table gets no route to the tunnel's own prefix, which might be the LAN's prefix too.
    ...config.interface.addresses.map(
      (address) =>
        `address replace ${address} dev ${link} noprefixroute${familyOf(address) === 6 ? " nodad" : ""}`,
    ),
    `link set dev ${link} mtu ${mtu} up`,
  ];
}

/**
 * `ip -batch` lines that route traffic into the tunnel. `replace` moves a route from the former tunnel atomically; an
 * address family without a tunnel address gets no route and stays unreachable.
 */
export function routeLines(link: string, config: Config, table: number): string[] {
  return routedPrefixes(config).map((prefix) => `route replace ${prefix} dev ${link} table ${table}`);
}

export function routedPrefixes({ interface: { addresses }, peer }: Config): Prefix[] {
  const families = new Set(addresses.map(familyOf));
  return peer.allowedIps.filter((prefix) => families.has(familyOf(prefix)));
}
