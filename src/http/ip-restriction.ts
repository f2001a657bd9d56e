import {
  contains,
  isLinkLocal,
  mustParsePrefix,
  type Prefix,
  parseAddress,
  unmapped,
} from "../base/address.ts";
import { refused } from "./refusals.ts";

/** The networks whose clients are served besides this machine itself. */
export interface LocalNetwork {
  /** The networks of the LAN as they are now. */
  lan: () => readonly Prefix[];
  /** The interfaces of the LAN: the same link-local prefix is on every interface. */
  interfaces: () => readonly string[];
}

/** Clients that the cache of `IpRestriction` holds; more than the devices of a home. */
const MAX_CACHED_CLIENTS = 1_000;

/** Restricts service by IP address: only loopback and the LAN are served. */
export class IpRestriction {
  /** Parsing addresses costs as much as the rest of a refusal, and a flooding client causes the same check each time. */
  private readonly cache = new Map<string, boolean>();

  constructor(private readonly network: LocalNetwork) {}

  /** Throws `GatewayError("forbidden")` for a peer outside the LAN, and for one whose address is not known. */
  refuseRemote(peer: string | null): void {
    if (peer !== null && this.isLocal(peer)) return;
    throw refused("not_local");
  }

  /** Whether a peer is on loopback or the LAN. A link-local peer comes with its interface: `fe80::1%eth0` (RFC 4007). */
  isLocal(peer: string): boolean {
    const [lan, interfaces] = [this.network.lan(), this.network.interfaces()];
    const key = [peer, ...lan, ...interfaces].join(" ");
    const cached = this.cache.get(key);
    if (cached !== undefined) return cached;
    if (this.cache.size >= MAX_CACHED_CLIENTS) this.cache.clear();
    const local = isIn(peer, lan, interfaces);
    this.cache.set(key, local);
    return local;
  }
}

function isIn(peer: string, lan: readonly Prefix[], interfaces: readonly string[]): boolean {
  const [bare = "", ...zone] = peer.split("%");
  const parsed = parseAddress(bare);
  if (parsed === null) return false;
  const address = unmapped(parsed);
  if (isLinkLocal(address)) return interfaces.includes(zone.join("%"));
  return [...LOOPBACK, ...lan].some((prefix) => contains(prefix, address));
}

export const LOOPBACK: readonly Prefix[] = ["127.0.0.0/8", "::1/128"].map(mustParsePrefix);
