/**
 * What the firewall must know; `rulesetOf` turns it into text. No value of it lets more out beside a tunnel than one
 * lookup and one connection, each from a port that the service holds.
 */
export interface Policy {
  lans: readonly Lan[];
  /** The interface towards the internet; null while the machine has none. */
  uplink: string | null;
  /** The private prefixes of the uplink's cable: where a DHCP server may be asked by its address. */
  uplinkPrefixes: readonly string[];
  /** Tunnels that may exchange WireGuard packets with their endpoint. */
  endpoints: readonly FirewallTunnel[];
  /** Tunnels that carry the LAN's and the gateway's traffic. The first is the current one. */
  carrying: readonly FirewallTunnel[];
  /** The one question to the system's resolvers that a server's name needs. */
  lookup: Lookup | null;
  /** The one connection beside the tunnel that the operator has asked for. */
  exemption: Exemption | null;
}

/** Nothing is let out: there is no tunnel, nor the wish for one. */
export function blocked({
  lans,
  uplink,
  uplinkPrefixes,
}: Pick<Policy, "lans" | "uplink" | "uplinkPrefixes">): Policy {
  return { lans, uplink, uplinkPrefixes, endpoints: [], carrying: [], lookup: null, exemption: null };
}

/** A LAN interface, and the prefixes whose hosts are the LAN's. */
export interface Lan {
  interface: string;
  prefixes: readonly string[];
}

/** One tunnel as the firewall sees it. */
export interface FirewallTunnel {
  interface: string;
  /** Conntrack zone: the connections of one tunnel are no other tunnel's. */
  zone: number;
  endpoint: { address: string; port: number };
  /** The gateway's own addresses inside the tunnel, without prefix length. */
  addresses: readonly string[];
  resolvers: readonly string[];
}

export interface Lookup {
  resolvers: readonly string[];
  /** UDP source port that the service holds for the moment of the question. */
  sourcePort: number;
}

/** An HTTPS connection of the gateway's own. */
export interface Exemption {
  addresses: readonly string[];
  port: number;
  /** TCP source port that the service holds meanwhile, so that the hole is no other program's. */
  sourcePort: number;
}

/** Firewall mark of the tunnel's own packets, in WireGuard's sense: only they may use the uplink's routes. */
export const FWMARK = 0x504c;

/** Mark of refusals to a device that came by a public IPv6 address of the LAN's cable: they go back by that cable alone. */
export const REFUSAL_MARK = 0x504d;
