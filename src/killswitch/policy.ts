import { type Address, type Endpoint, overlap, type Prefix } from "../base/address.ts";
import type { Mac } from "../base/mac.ts";
import { type HostNetwork, takerOf } from "../network/host-network.ts";
import type { Lan } from "../network/lan.ts";
import { type InsideExit, isOutsideExit, type OutsideExit } from "../shared/exits.ts";
import type { DestinationTo } from "./destination-part.ts";
import {
  type Contact,
  type ContactPart,
  contactsIn,
  type ForwardedPort,
  type ForwardPart,
  forwardsIn,
} from "./forwarded.ts";
import { exitOfLink, type NetworkPart, networksIn } from "./network-part.ts";
import { type RemotePart, type RemoteWith, remoteIn } from "./remote-part.ts";
import { interfacesTo, lansWith, meshPrefixes, overlapOf, routedIn } from "./routed.ts";

/**
 * The input of the firewall; `rulesetOf` turns it into text. Outside the tunnels it can permit only WireGuard, lookups
 * and exemptions, the latter two from ports that the service holds.
 */
export interface Policy {
  lans: readonly Lan[];
  /** The interface to the internet, or null. */
  uplink: string | null;
  /** The uplink's own addresses. */
  uplinkAddresses: readonly Address[];
  /** The private prefixes of the uplink: a DHCP server with such an address may be sent unicast requests. */
  uplinkPrefixes: readonly Prefix[];
  /** The gateway's own addresses outside the tunnels, except link-local ones. */
  addresses: readonly Address[];
  /** Tunnels that may exchange WireGuard packets with their endpoint. */
  endpoints: readonly FirewallTunnel[];
  /** Tunnels that carry traffic. */
  carrying: readonly FirewallTunnel[];
  lookups: readonly Lookup[];
  exemptions: readonly Exemption[];
  devices: readonly AssignedDevice[];
  /** Sorted with the most specific prefix first. */
  routed: readonly RoutedPrefix[];
  /** The exit of devices that are not assigned, on a network without one of its own. */
  defaultExit: DefaultExit;
  /** Missing while all networks of the LAN are alike: the home's exit, the page, and nothing between them. */
  networks?: readonly NetworkPart[];
  /** Missing while no destination has an exit of its own. */
  destinations?: readonly Destination[];
  /** Ports of the internet that lead to devices. */
  forwards: readonly ForwardedPort[];
  contacts: readonly Contact[];
  /** Whether the gateway announces to the LAN that ports may have changed (NAT-PMP). */
  announces?: boolean;
  /** Missing while no device may connect from outside. */
  remote?: Remote;
  /** The home router's addresses, while it is asked to let remote devices in. */
  routers?: readonly Address[];
  /** Missing while these routers' UPnP is not being searched. */
  searchPort?: number;
  /** Missing while the gateway has no resolver of its own. */
  resolver?: OwnResolver;
  /** Whether the uplink has a carrier and a default route. */
  online: boolean;
  /** The resolvers that the system uses outside the tunnels. */
  resolvers: readonly Address[];
}

/**
 * Where a device's traffic leaves. Nothing goes through a tunnel that is not up or does not exist. `direct` is the
 * uplink, outside the tunnels. It is only for devices that are named, and is never the default exit.
 */
export type Exit = InsideExit | OutsideExit;
export type DefaultExit = InsideExit;

export type Remote = RemoteWith<Exit>;

export type Destination = DestinationTo<Exit>;

/** A device of the LAN with an exit of its own. */
export interface AssignedDevice {
  id: Mac;
  exit: Exit;
}

/** A network behind another router of the LAN, which a person has declared. */
export interface RoutedPrefix {
  prefix: Prefix;
  exit: DefaultExit;
}

/** What was decided for a prefix: such a network, or a remote device, which alone may be direct. */
export interface DecidedPrefix {
  prefix: Prefix;
  /** Null for the default exit of the network that leads there. */
  exit: Exit | null;
}

/**
 * What one owner needs from the kill switch: a tunnel, whose name is the owner's, the devices, or a connection that the
 * operator has requested.
 */
export interface PolicyPart {
  endpoints?: readonly TunnelPart[];
  carrying?: readonly TunnelPart[];
  lookup?: Lookup;
  exemption?: Exemption;
  devices?: Policy["devices"];
  deviceAt?: DeviceAt;
  /** Prefixes without a route have no effect. */
  routed?: readonly DecidedPrefix[];
  defaultExit?: DefaultExit;
  /** Every network that people have seen. A new one is blocked, unless the home's default exit is main. */
  networks?: readonly NetworkPart[];
  destinations?: readonly Destination[];
  forwards?: readonly ForwardPart[];
  contacts?: readonly ContactPart[];
  announces?: true;
  /** Without effect while something else has its addresses. */
  remote?: RemotePart;
  /** Only those of a router on the uplink's cable have an effect. */
  routers?: readonly Address[];
  /** UDP port that the service holds while it searches these routers' UPnP. */
  searchPort?: number;
  resolver?: OwnResolver;
}

/** Finds the device that has an address of the LAN, or had it last, as far as it is known. */
export type DeviceAt = (address: Address) => Mac | null;

/**
 * The gateway's own resolver, which answers the queries of the LAN and sends its own by the exit of the traffic that
 * follows. It listens at the gateway's addresses on each LAN.
 */
export interface OwnResolver {
  /** Where devices are answered for which nothing is decided and which have no port of their own. */
  port: number;
  askers: readonly Asker[];
}

/** Who asks the resolver: the port at which a question arrives tells it. */
export interface Asker {
  id: Mac | Prefix;
  /** Null while nothing answers it: then it is refused. */
  port: number | null;
  /** The MAC addresses of the routers that lead to a network; null if its hosts are on the cable. A device needs none. */
  routers: readonly Mac[] | null;
}

/** The tunnel for the gateway's own traffic, and for that of the LAN which has no other exit. */
export const MAIN = "main";

/** The parts of the machine's own network that a policy needs. */
type Network = Pick<
  HostNetwork,
  | "lans"
  | "uplink"
  | "uplinkAddresses"
  | "uplinkPrefixes"
  | "addresses"
  | "lanRoutes"
  | "uplinkRouters"
  | "online"
  | "resolvers"
>;

/** The policy that meets the needs of all owners, in any order. */
export function mergedPolicy(parts: ReadonlyMap<string, PolicyPart>, network: Network): Policy {
  const { uplink, uplinkAddresses, uplinkPrefixes, addresses, online, resolvers } = network;
  const sorted = [...parts].sort(([a], [b]) => (rankOf(a) < rankOf(b) ? -1 : 1));
  const owned = sorted.map(([, part]) => part);
  const tunnelsIn = (kind: "endpoints" | "carrying") =>
    sorted.flatMap(([name, { [kind]: tunnels = [] }]) =>
      tunnels.map((tunnel) => withoutTaken({ ...tunnel, tunnel: name }, network)),
    );
  const endpoints = tunnelsIn("endpoints");
  const carrying = tunnelsIn("carrying");
  const devices = owned.flatMap((part) => part.devices ?? []);
  const [defaultExit = { to: "tunnel", name: MAIN } as const] = owned.flatMap(
    (part) => part.defaultExit ?? [],
  );
  const [known = null] = owned.flatMap((part) => (part.networks === undefined ? [] : [part.networks]));
  const networks = networksIn(known, network.lans, !isMain(defaultExit));
  const exitOn = (link: string | undefined) => exitOfLink({ networks, defaultExit }, link);
  const declared = owned.flatMap(({ routed = [] }) => routed);
  const routed = routedIn(
    declared.map((each) => withoutDirect(each, exitOn(interfacesTo(each.prefix, network)[0]))),
    network,
    endpoints,
  );
  const leavesBy = (device: Mac, tunnel: string, link: string) => {
    const exit = devices.find(({ id }) => id === device)?.exit ?? exitOn(link);
    return exit.to === "tunnel" && exit.name === tunnel;
  };
  const destinations = owned.flatMap((part) => part.destinations ?? []);
  const lans = lansWith(routed, network);
  const isFree = ({ networks }: RemotePart) =>
    networks.every((each) => overlapOf(each, { ...network, uplinkPrefixes: [] }, endpoints) === null);
  const [remote] = owned.flatMap((part) => part.remote ?? []).filter(isFree);
  const further = [...routed.map(({ prefix }) => prefix), ...meshPrefixes(network)];
  const isFreeForHome = (prefix: Prefix) =>
    overlapOf(prefix, network, endpoints) === null && !further.some((each) => overlap(each, prefix));
  const routers = owned
    .flatMap((part) => part.routers ?? [])
    .filter((router) => network.uplinkRouters.includes(router));
  const [searchPort] = routers.length === 0 ? [] : owned.flatMap((part) => part.searchPort ?? []);
  const [resolver] = owned.flatMap((part) => part.resolver ?? []);
  return {
    lans,
    uplink,
    uplinkAddresses,
    uplinkPrefixes,
    addresses,
    online,
    resolvers,
    endpoints,
    carrying,
    lookups: owned.flatMap(({ lookup = [] }) => lookup),
    exemptions: owned.flatMap(({ exemption = [] }) => exemption),
    routed,
    devices,
    defaultExit,
    ...(networks.length > 0 && { networks }),
    ...(destinations.length > 0 && { destinations }),
    ...(owned.some(({ announces }) => announces) && { announces: true }),
    ...(remote && { remote: remoteIn(remote, declared, defaultExit, isFreeForHome) }),
    ...(routers.length > 0 && { routers }),
    ...(searchPort !== undefined && { searchPort }),
    ...(resolver && { resolver }),
    contacts: contactsIn(
      owned.flatMap((part) => part.contacts ?? []),
      { carrying },
    ),
    forwards: forwardsIn(
      owned.flatMap((part) => part.forwards ?? []),
      { carrying, lans: network.lans, addresses, leavesBy },
    ),
  };
}

/**
 * Only the tunnel may send to its addresses (CVE-2019-14899). An address that the LAN now uses is left out, or the LAN
 * could not reach the gateway.
 */
function withoutTaken(tunnel: FirewallTunnel, network: Network): FirewallTunnel {
  return { ...tunnel, addresses: tunnel.addresses.filter((address) => takerOf(network, address) === null) };
}

/** The tunnels with that name, the current one first; during a switch there are two. */
export function tunnelsOf(name: string, { carrying }: Pick<Policy, "carrying">): readonly FirewallTunnel[] {
  return carrying.filter(({ tunnel }) => tunnel === name);
}

/** The tunnels that the gateway itself uses, whatever the default exit is. */
export function mainTunnels(policy: Pick<Policy, "carrying">): readonly FirewallTunnel[] {
  return tunnelsOf(MAIN, policy);
}

/** The devices that go through the uplink now. Without a carrier nothing answers there, so they are refused at once. */
export function directDevices(policy: Policy): readonly AssignedDevice[] {
  return canLeaveDirectly(policy) ? policy.devices.filter(({ exit }) => exit.to === "direct") : [];
}

/** Whether traffic to some destinations goes through the uplink now. */
export function leadsToDirect(policy: Policy): boolean {
  return canLeaveDirectly(policy) && policy.destinations?.some(({ exit }) => exit.to === "direct") === true;
}

export function canLeaveDirectly({ lans, uplink, online }: Policy): boolean {
  return lans.length > 0 && uplink !== null && online;
}

/** The same for remote devices. */
export function directRemotes({ remote, uplink, online }: Policy): Remote["devices"] {
  return remote === undefined || uplink === null || !online
    ? []
    : remote.devices.filter(({ exit }) => exit.to === "direct");
}

/** Whether anything goes through the uplink now, outside the tunnels: a device, or traffic to some destinations. */
export function isAnyDirect(policy: Policy): boolean {
  return directDevices(policy).length > 0 || directRemotes(policy).length > 0 || leadsToDirect(policy);
}

/** A network has more devices than a person sees, so it is never direct. */
function withoutDirect({ prefix, exit }: DecidedPrefix, ofNetwork: DefaultExit): RoutedPrefix {
  return { prefix, exit: isOutsideExit(exit) ? { to: "blocked" } : (exit ?? ofNetwork) };
}

function isMain(exit: DefaultExit): boolean {
  return exit.to === "tunnel" && exit.name === MAIN;
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
  /** The tunnel's name; two of them have it during a switch. */
  tunnel: string;
  interface: string;
  /** Firewall mark of its own packets. */
  mark: number;
  /** Conntrack zone: keeps the connections of one tunnel apart from those of another. */
  zone: number;
  endpoint: Endpoint;
  /** The server's public key. */
  peer?: string;
  /** The protocol by which a relay of the service's reaches the endpoint; missing if WireGuard reaches it. */
  relay?: "tcp" | "udp";
  /** The gateway's own addresses inside the tunnel, without prefix length. */
  addresses: readonly Address[];
  resolvers: readonly Address[];
  /** What the gateway itself may ask inside the tunnel, over TCP, while the tunnel carries nothing yet. */
  service?: { address: Address; port: number };
}

export type TunnelPart = Omit<FirewallTunnel, "tunnel">;

/** The lookup of a server's name, by the system's resolvers. */
export interface Lookup {
  resolvers: readonly Address[];
  /** UDP source port that the service holds during the lookup. */
  sourcePort: number;
}

/** One connection outside the tunnel, to a server that the operator has asked for or to the home router. */
export interface Exemption {
  addresses: readonly Address[];
  port: number;
  /** TCP source port that the service holds meanwhile, so that no other program can use the exemption. */
  sourcePort: number;
}
