import { type HostNetwork, takerOf } from "../network/host-network.ts";
import type { Lan } from "../network/lan.ts";

/**
 * What the firewall must know; `rulesetOf` turns it into text. Outside the tunnels no value of it permits more than
 * lookups and exemptions, each from a port that the service holds.
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
  lookups: readonly Lookup[];
  exemptions: readonly Exemption[];
}

/** What one owner needs of the kill switch: a tunnel, or a connection that the operator has asked for. */
export interface PolicyPart {
  endpoints?: Policy["endpoints"];
  carrying?: Policy["carrying"];
  lookup?: Lookup;
  exemption?: Exemption;
}

/** The tunnel of all traffic that no other tunnel is named for. */
export const MAIN = "main";

/** What a policy takes from the machine's own network. */
type Surroundings = Pick<HostNetwork, "lans" | "uplink" | "uplinkPrefixes" | "addresses">;

/** The policy that meets the needs of all owners, whatever the order in which they were told. */
export function mergedPolicy(parts: ReadonlyMap<string, PolicyPart>, network: Surroundings): Policy {
  const { lans, uplink, uplinkPrefixes } = network;
  const here = (tunnel: FirewallTunnel) => withoutTaken(tunnel, network);
  const sorted = [...parts].sort(([a], [b]) => (rankOf(a) < rankOf(b) ? -1 : 1)).map(([, part]) => part);
  return {
    lans,
    uplink,
    uplinkPrefixes,
    endpoints: sorted.flatMap(({ endpoints = [] }) => endpoints.map(here)),
    carrying: sorted.flatMap(({ carrying = [] }) => carrying.map(here)),
    lookups: sorted.flatMap(({ lookup = [] }) => lookup),
    exemptions: sorted.flatMap(({ exemption = [] }) => exemption),
  };
}

/**
 * Nobody outside the tunnel may send to its addresses (CVE-2019-14899); one that the LAN has come to use since is left
 * out, or the LAN could no longer reach the gateway.
 */
function withoutTaken(tunnel: FirewallTunnel, network: Surroundings): FirewallTunnel {
  return { ...tunnel, addresses: tunnel.addresses.filter((address) => takerOf(network, address) === null) };
}

/** Main comes first. */
function rankOf(owner: string): string {
  return owner === MAIN ? "" : owner;
}

/** The policy while nobody needs anything: nothing leaves for the internet. */
export function blocked(network: Surroundings): Policy {
  return mergedPolicy(new Map(), network);
}

/** One tunnel as the firewall sees it. */
export interface FirewallTunnel {
  interface: string;
  /** Firewall mark of its own packets. */
  mark: number;
  /** Conntrack zone: the connections of one tunnel are no other tunnel's. */
  zone: number;
  endpoint: { address: string; port: number };
  /** The gateway's own addresses inside the tunnel, without prefix length. */
  addresses: readonly string[];
  resolvers: readonly string[];
}

/** The question to the system's resolvers that a server's name needs. */
export interface Lookup {
  resolvers: readonly string[];
  /** UDP source port that the service holds for the moment of the question. */
  sourcePort: number;
}

/** The one HTTPS connection outside the tunnel that the operator has asked for. */
export interface Exemption {
  addresses: readonly string[];
  port: number;
  /** TCP source port that the service holds meanwhile, so that the hole is no other program's. */
  sourcePort: number;
}
