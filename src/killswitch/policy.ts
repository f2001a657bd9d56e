import type { Address, Endpoint, Prefix } from "../address.ts";
import type { Mac } from "../mac.ts";
import { type HostNetwork, takerOf } from "../network/host-network.ts";
import type { Lan } from "../network/lan.ts";

/**
 * What the firewall is made from; `rulesetOf` turns it into text. Outside the tunnels it can permit only WireGuard,
 * lookups and exemptions, the latter two from ports that the service holds.
 */
export interface Policy {
  lans: readonly Lan[];
  /** The interface to the internet, or null. */
  uplink: string | null;
  /** The private prefixes of the uplink: a DHCP server with such an address may be sent unicast requests. */
  uplinkPrefixes: readonly Prefix[];
  /** Tunnels that may exchange WireGuard packets with their endpoint. */
  endpoints: readonly FirewallTunnel[];
  /** Tunnels that carry the traffic of the LAN and the gateway. The first is the current one. */
  carrying: readonly FirewallTunnel[];
  lookups: readonly Lookup[];
  exemptions: readonly Exemption[];
  devices: readonly AssignedDevice[];
  /** Where devices that are not assigned leave. */
  unassigned: Exit;
}

/** Where a device's traffic leaves. Nothing leaves by a tunnel that is not up or does not exist. */
export type Exit = { to: "tunnel"; name: string } | { to: "blocked" } | { to: "direct" };

/** A device of the LAN with an exit of its own. */
export interface AssignedDevice {
  /** The prefix, private and without host bits, is of what is behind another router; no two of them overlap. */
  id: Mac | Prefix;
  exit: Exit;
}

/** What one owner needs from the kill switch: a tunnel, the devices, or a connection that the operator has requested. */
export interface PolicyPart {
  endpoints?: Policy["endpoints"];
  carrying?: Policy["carrying"];
  lookup?: Lookup;
  exemption?: Exemption;
  devices?: Policy["devices"];
  defaultExit?: Exit;
}

/** The tunnel for all traffic that is not assigned to another one. */
export const MAIN = "main";

/** What a policy needs of the machine's own network. */
type Network = Pick<HostNetwork, "lans" | "uplink" | "uplinkPrefixes" | "addresses">;

/** The policy that meets the needs of all owners, in any order. */
export function mergedPolicy(parts: ReadonlyMap<string, PolicyPart>, network: Network): Policy {
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
    devices: sorted.flatMap(({ devices = [] }) => devices),
    unassigned: sorted.flatMap(({ defaultExit = [] }) => defaultExit)[0] ?? { to: "tunnel", name: MAIN },
  };
}

/**
 * Only the tunnel may send to its addresses (CVE-2019-14899). An address that the LAN now uses is left out, or the LAN
 * could not reach the gateway.
 */
function withoutTaken(tunnel: FirewallTunnel, network: Network): FirewallTunnel {
  return { ...tunnel, addresses: tunnel.addresses.filter((address) => takerOf(network, address) === null) };
}

/** Main comes first. */
function rankOf(owner: string): string {
  return owner === MAIN ? "" : owner;
}

/** The policy without owners: nothing leaves for the internet. */
export function blocked(network: Network): Policy {
  return mergedPolicy(new Map(), network);
}

/** One tunnel as the firewall sees it. */
export interface FirewallTunnel {
  interface: string;
  /** Firewall mark of its own packets. */
  mark: number;
  /** Conntrack zone: keeps the connections of one tunnel apart from those of another. */
  zone: number;
  endpoint: Endpoint;
  /** The gateway's own addresses inside the tunnel, without prefix length. */
  addresses: readonly Address[];
  resolvers: readonly Address[];
}

/** The lookup of a server's name, by the system's resolvers. */
export interface Lookup {
  resolvers: readonly Address[];
  /** UDP source port that the service holds during the lookup. */
  sourcePort: number;
}

/** One HTTPS connection outside the tunnel that the operator has requested. */
export interface Exemption {
  addresses: readonly Address[];
  port: number;
  /** TCP source port that the service holds meanwhile, so that no other program can use the exemption. */
  sourcePort: number;
}
