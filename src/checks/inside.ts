import type { Address } from "../base/address.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Host } from "../system/host.ts";
import { resolverInside } from "../tunnel/mtu.ts";
import type { Session } from "../tunnel/session.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** Any link carries packets of this size, but some resolvers answer no padded query. */
const PADDED_BYTES = 1_000;
/** Common path MTUs minus WireGuard's overhead, in bytes; IPv6 needs the last (RFC 8200, 5). */
const SIZES_BYTES = [1440, 1432, 1420, 1412, 1400, 1392, 1380, 1360, 1340, 1320, 1300, 1280];

/** The answers of the tunnel's resolver through the tunnel. */
export interface Inside {
  /** Null if the tunnel has none, or only some in the LAN. */
  resolver: Address | null;
  /** The longest packet that is sent into the tunnel, in bytes. */
  mtu: number;
  /** The sizes of the packets that were answered, in bytes; 0 stands for one that was not padded. */
  answered: readonly number[];
}

/**
 * Queries the resolver of a live tunnel. To be called only while the kill switch is on: it keeps the queries in the
 * tunnel even if that ends meanwhile.
 */
export async function measureInside(
  host: Host,
  session: Session,
  network: HostNetwork,
  mtu: number,
): Promise<Inside> {
  const resolver = resolverInside(session, network);
  if (resolver === null) return { resolver, mtu, answered: [] };
  const answered = await host.probeResolver(resolver, [0, PADDED_BYTES, mtu]);
  if (!answered.includes(PADDED_BYTES) || answered.includes(mtu)) return { resolver, mtu, answered };
  const shorter = SIZES_BYTES.filter((bytes) => bytes < mtu);
  return { resolver, mtu, answered: [...answered, ...(await host.probeResolver(resolver, shorter))] };
}

/** Null if there is nothing to measure with. */
export function mtuFinding({ mtu, answered }: Inside): Finding | null {
  if (answered.length === 0) return null;
  if (answered.includes(mtu)) return ok("mtu", { mtu });
  if (!answered.includes(PADDED_BYTES)) return ok("mtu_unmeasured", {});
  return warning("mtu_short", { mtu, longest: Math.max(...answered) });
}
