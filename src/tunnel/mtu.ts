import { type Address, contains, familyOf } from "../base/address.ts";
import type { HostNetwork } from "../network/host-network.ts";
import { TRANSPORTS } from "../transports/list.ts";
import type { Config } from "../wireguard/schema.ts";
import type { SavedState } from "./saved-state.ts";
import type { Session } from "./session.ts";

/** What WireGuard adds around a packet: the IP header, 8 bytes for UDP and 32 of its own. */
const OVERHEAD_BYTES = { 4: 20 + 8 + 32, 6: 40 + 8 + 32 };
/** The smallest MTU that IPv6 permits (RFC 8200, 5). */
export const LEAST_MTU = 1280;
/** WireGuard pads packets to multiples of this, as far as the link's MTU allows (white paper, 5.4.6). */
const PADDED_BYTES = 16;

type Known = Pick<SavedState, "pathMtu">;

/** The MTU of the tunnel's interface; the endpoint may be IPv6. */
export function linkMtuOf(config: Config, uplinkMtu: number): number {
  return config.interface.mtu ?? Math.max(uplinkMtu - OVERHEAD_BYTES[6], LEAST_MTU);
}

/** The MTU of the tunnel's routes if the path is narrower than the interface's MTU supposes; null if not, or unknown. */
export function limitOf(session: Session, network: HostNetwork, known: Known): number | null {
  const { server, endpoint } = session;
  const added = addedBytes(session);
  const path = known.pathMtu(pathOf(network)) ?? (added > 0 ? network.uplinkMtu : null);
  if (path === null) return null;
  const fits = path - added - OVERHEAD_BYTES[familyOf(endpoint.address)];
  const limit = Math.max(fits - (fits % PADDED_BYTES), LEAST_MTU);
  return limit < linkMtuOf(server.config, network.uplinkMtu) ? limit : null;
}

/** What is added to WireGuard's packets, in bytes. */
export function addedBytes({ transport, server }: Pick<Session, "transport" | "server">): number {
  return TRANSPORTS[transport ?? "plain"].addedBytes(server.config);
}

/** The longest packet that is sent into the tunnel, in bytes. */
export function mtuOf(session: Session, network: HostNetwork, known: Known): number {
  return limitOf(session, network, known) ?? linkMtuOf(session.server.config, network.uplinkMtu);
}

/** Lengths below `mtu` to try, the longest first. For each of them, WireGuard adds no padding. */
export function sizesBelow(mtu: number): number[] {
  const sizes: number[] = [];
  for (let size = LEAST_MTU; size < mtu && sizes.length < MAX_SIZES; size += PADDED_BYTES)
    sizes.unshift(size);
  return sizes;
}
/** 1280 to 1408 bytes. Packets longer than those of Ethernet are tried in one size only. */
const MAX_SIZES = 9;

export function overheadOf(endpoint: Address): number {
  return OVERHEAD_BYTES[familyOf(endpoint)];
}

/** The name under which the MTU of the path is kept: the interface and, to tell networks apart, its private prefix. */
export function pathOf({ uplink, uplinkPrefixes }: HostNetwork): string {
  return [uplink ?? "", ...uplinkPrefixes.slice(0, 1)].join(" ");
}

/** The first resolver that is reached through the tunnel, or null. */
export function resolverInside(session: Session, network: HostNetwork): Address | null {
  return resolversInside(session, network)[0] ?? null;
}

/** All of them. */
export function resolversInside({ server }: Session, { lans }: HostNetwork): Address[] {
  const { addresses, dns } = server.config.interface;
  const families = new Set(addresses.map(familyOf));
  const prefixes = lans.flatMap((lan) => lan.prefixes);
  const isInside = (address: Address) =>
    families.has(familyOf(address)) && !prefixes.some((prefix) => contains(prefix, address));
  return dns.filter(isInside);
}
