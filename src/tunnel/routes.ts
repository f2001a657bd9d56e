import { familyOf, type Prefix } from "../base/address.ts";
import { ledPrefixes } from "../wireguard/led.ts";
import type { Config } from "../wireguard/schema.ts";
import { linkMtuOf } from "./mtu.ts";

/** `ip -batch` lines that bring up an existing link with the tunnel's addresses. */
export function linkLines(link: string, config: Config, uplinkMtu: number): string[] {
  return [
    // `noprefixroute`: the main table gets no route to the tunnel's own prefix, which might be the LAN's prefix too.
    ...config.interface.addresses.map(
      (address) =>
        `address replace ${address} dev ${link} noprefixroute${familyOf(address) === 6 ? " nodad" : ""}`,
    ),
    `link set dev ${link} mtu ${linkMtuOf(config, uplinkMtu)} up`,
  ];
}

/**
 * `ip -batch` lines that route traffic into the tunnel. `replace` moves a route from the former tunnel atomically. An
 * address family without a tunnel address gets no route and stays unreachable. `mtu` is null if it is the link's own; a
 * locked one also counts for forwarded packets.
 */
export function routeLines(link: string, config: Config, table: number, mtu: number | null): string[] {
  const lock = mtu === null ? "" : ` mtu lock ${mtu}`;
  return routedPrefixes(config).map((prefix) => `route replace ${prefix} dev ${link} table ${table}${lock}`);
}

export function routedPrefixes(config: Config): Prefix[] {
  const families = new Set(config.interface.addresses.map(familyOf));
  return ledPrefixes(config).filter((prefix) => families.has(familyOf(prefix)));
}
