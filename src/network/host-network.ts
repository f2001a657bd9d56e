import {
  type Address,
  addressOf,
  contains,
  familyOf,
  isLinkLocal,
  networkOf,
  type Prefix,
  parseAddress,
  parsePrefix,
  prefixOf,
  privateBlockOf,
} from "../base/address.ts";
import { INTERFACE_NAME } from "../base/interface-name.ts";
import type { Settings } from "../base/settings.ts";
import type { Host } from "../system/host.ts";
import { type AddressedLink, type Route, showAddresses, showRoutes } from "../system/ip.ts";
import { type Cable, type Lan, lanOf, NO_ROLES, prefixesOf, type Roles } from "./lan.ts";
import { type LanRoute, type LinkRoute, lanRoutesIn, linkRoutesIn, routesAgainst } from "./lan-routes.ts";
import { type Mesh, meshesIn } from "./mesh.ts";
import { nameserversOf } from "./nameservers.ts";
import { allLinks, ownLinks, remoteLinkOf } from "./slot.ts";

/** The machine's own network. */
export interface HostNetwork {
  lans: readonly Lan[];
  /** The meshes that root has named, which are not among these. */
  meshes: readonly Mesh[];
  uplink: string | null;
  /** The uplink's own addresses: the source addresses of the tunnel's packets. */
  uplinkAddresses: Address[];
  /** All of the machine's own addresses except link-local ones and those of our tunnels. */
  addresses: Address[];
  /** The private prefixes of the uplink. */
  uplinkPrefixes: Prefix[];
  /** The routers of its own default routes, of both families. */
  routers: readonly Address[];
  /** Those of them on the uplink's cable. */
  uplinkRouters: readonly Address[];
  /** The operator's routes to networks behind other routers of the LAN. */
  lanRoutes: readonly LanRoute[];
  /** The routes to the LAN's own prefixes. */
  linkRoutes: readonly LinkRoute[];
  /** Routes that lead to a part of the LAN by another interface, as text for people. */
  routesAgainstLan: readonly string[];
  /** Its MTU in bytes. */
  uplinkMtu: number;
  ipv6: Ipv6;
  /** The resolvers outside this machine that the system uses. */
  resolvers: readonly Address[];
  /** Whether the uplink has a carrier and a way to the internet: a default route, or only a route to a server. */
  online: boolean;
  /** Unusual facts in finding the LAN, as text for people. */
  remarks: readonly string[];
}

/** `off`: turned off by a sysctl, so interfaces have no IPv6 addresses. `missing`: not in the kernel (`ipv6.disable=1`). */
export type Ipv6 = "on" | "off" | "missing";

const ETHERNET_MTU = 1500;

/** Until the machine's network has been read. */
export const NO_NETWORK: HostNetwork = {
  lans: [],
  meshes: [],
  uplink: null,
  uplinkAddresses: [],
  addresses: [],
  uplinkPrefixes: [],
  routers: [],
  uplinkRouters: [],
  lanRoutes: [],
  linkRoutes: [],
  routesAgainstLan: [],
  uplinkMtu: ETHERNET_MTU,
  ipv6: "on",
  resolvers: [],
  online: false,
  remarks: [],
};

/** The kernel's view of the machine's network. */
export interface Reading {
  addresses: readonly AddressedLink[];
  /** The machine's own routes. */
  routes: readonly Route[];
  ipv6: Ipv6;
  resolvers: readonly Address[];
}

/** This only reads. */
export async function readNetwork(host: Host): Promise<Reading> {
  const [addresses, routes, ipv6, resolvers] = await Promise.all([
    showAddresses(host),
    routesOf(host),
    ipv6Of(host),
    nameserversOf(host),
  ]);
  return { addresses, routes, ipv6, resolvers };
}

/** Whether an earlier process has left an interface of a tunnel. */
export function hasTunnel({ addresses }: Reading, { interface: base }: Pick<Settings, "interface">): boolean {
  const links = allLinks(base);
  return addresses.some(({ ifname }) => links.includes(ifname));
}

/** The addresses of the tunnels that are up, including those that an earlier process has left. */
export function tunnelAddressesIn(
  { addresses }: Reading,
  { interface: base }: Pick<Settings, "interface">,
): Address[] {
  const links = allLinks(base);
  return addresses.filter(({ ifname }) => links.includes(ifname)).flatMap(localsOf);
}

/** Whose addresses no mesh may have: those of the tunnels that are up, and the networks of remote devices. */
export function closedToMeshes(reading: Reading, settings: Pick<Settings, "interface">): Prefix[] {
  const remote = reading.addresses.filter(({ ifname }) => ifname === remoteLinkOf(settings.interface));
  return [
    ...tunnelAddressesIn(reading, settings).map(prefixOf),
    ...remote.flatMap((link) => cableOf(link).addresses.map((each) => networkOf(each))),
  ];
}

/**
 * The LAN is the private prefixes on the LAN interfaces, never every private address and never every connected
 * route: a public prefix that appears on an interface must not become an exception.
 */
export async function hostNetworkOf(
  host: Host,
  settings: Settings,
  roles: Roles = NO_ROLES,
): Promise<HostNetwork> {
  return networkIn(await readNetwork(host), settings, roles);
}

/** The same, from an earlier reading. */
export function networkIn(
  { addresses, routes: shown, ipv6, resolvers }: Reading,
  settings: Pick<Settings, "interface" | "lan" | "mesh" | "uplink">,
  roles: Roles = NO_ROLES,
): HostNetwork {
  const tunnels = ownLinks(settings.interface);
  const own = new Set(["lo", ...tunnels]);
  const network = addresses.filter(({ ifname }) => !own.has(ifname) && INTERFACE_NAME.test(ifname));
  const routes = defaultRoutesIn(shown).filter(
    ({ dev }) => !own.has(dev) && !settings.mesh.includes(dev) && INTERFACE_NAME.test(dev),
  );
  const routed = routes.map(({ dev }) => dev);
  const uplink = settings.uplink ?? routed[0] ?? null;
  const found = network.find((link) => link.ifname === uplink);
  const cables = network.map(cableOf);
  const { lans, remarks } = lanOf(
    cables.filter((cable) => !settings.mesh.includes(cable.interface)),
    { named: settings.lan, uplink, routed, roles },
  );
  return {
    lans,
    meshes: meshesIn(cables, settings.mesh),
    remarks,
    lanRoutes: lanRoutesIn(
      shown,
      lans.map((lan) => lan.interface),
    ),
    linkRoutes: linkRoutesIn(shown, lans),
    routesAgainstLan: routesAgainst(
      shown.filter(({ dev = "" }) => !own.has(dev)),
      lans,
    ),
    uplink,
    routers: routersIn(shown, (dev) => !own.has(dev)),
    uplinkRouters: routersIn(shown, (dev) => dev === uplink),
    uplinkAddresses: found === undefined ? [] : localsOf(found).sort(),
    addresses: addressesOf(addresses.filter((link) => !tunnels.includes(link.ifname))),
    uplinkPrefixes: found === undefined ? [] : prefixesOf(cableOf(found)),
    uplinkMtu: found?.mtu ?? ETHERNET_MTU,
    ipv6,
    resolvers,
    online:
      hasCarrier(found) &&
      [...routes, ...publicRoutesIn(shown)].some(({ dev, isLive }) => isLive && dev === uplink),
  };
}

/** The LAN for people, with the reason. */
export function lanText({ lans, uplink }: HostNetwork, { lan }: Pick<Settings, "lan">): string {
  if (lans.length === 0) return "none";
  const list = lans.map((one) => `${one.interface} (${one.prefixes.join(", ")})`).join("; ");
  if (lan.length > 0) return `${list}, as named in the settings`;
  if (uplink === null) return `${list}; the uplink is not known yet`;
  return lans.some((one) => one.interface === uplink)
    ? `${list}; the uplink is part of the LAN, because no other interface has a private network`
    : `${list}, without the uplink ${uplink}`;
}

/** The owner of an address outside our tunnels: this machine, a prefix of the LAN, or nobody (null). */
export function takerOf(
  { addresses, lans }: Pick<HostNetwork, "addresses" | "lans">,
  address: Address,
): "machine" | Prefix | null {
  if (addresses.includes(address)) return "machine";
  return lans.flatMap((lan) => lan.prefixes).find((prefix) => contains(prefix, address)) ?? null;
}

/**
 * The network while tunnels have these addresses. An IPv6 prefix that covers one of them does not count as LAN: any host
 * of the LAN can give this machine an address by a router advertisement (or DHCPv6), and would otherwise end the tunnel.
 * With an infinite lifetime such an address looks like one that a person has set. The LAN keeps its IPv4 prefixes and
 * link-local addresses.
 */
export function networkBeside<Network extends Pick<HostNetwork, "addresses" | "lans">>(
  network: Network,
  tunnels: readonly Address[],
): Network {
  const inside = tunnels.filter((address) => familyOf(address) === 6 && !isLinkLocal(address));
  const isFree = (prefix: Prefix) => !inside.some((address) => contains(prefix, address));
  return {
    ...network,
    lans: network.lans.map((lan) => ({ ...lan, prefixes: lan.prefixes.filter(isFree) })),
    addresses: network.addresses.filter((address) => !inside.includes(address)),
  };
}

export async function ipv6Of(host: Pick<Host, "read">): Promise<Ipv6> {
  const disabled = await host.read("/proc/sys/net/ipv6/conf/all/disable_ipv6");
  if (disabled === null) return "missing";
  return disabled.trim() === "1" ? "off" : "on";
}

export function hasCarrier(link: Pick<AddressedLink, "flags"> | undefined): boolean {
  return link?.flags.includes("UP") === true && !link.flags.includes("NO-CARRIER");
}

interface DefaultRoute {
  dev: string;
  isLive: boolean;
  /** Routes through a router. */
  isRouted: boolean;
}

/**
 * All default routes, in order of preference: live before dead, IPv4 before IPv6, then by metric. A route with several
 * routers has its interfaces in `nexthops`.
 */
function defaultRoutesIn(shown: readonly Route[]): DefaultRoute[] {
  return liveFirst(shown.filter(({ dst }) => dst === "default"));
}

function liveFirst(routes: readonly Route[]): DefaultRoute[] {
  return routes
    .flatMap((route) => route.nexthops ?? [route])
    .flatMap(({ dev, gateway, flags = [] }) =>
      dev === undefined
        ? []
        : [
            {
              dev,
              isLive: !flags.includes("dead") && !flags.includes("linkdown"),
              isRouted: gateway !== undefined,
            },
          ],
    )
    .sort((a, b) => Number(b.isLive) - Number(a.isLive));
}

/**
 * The interface of a route to the internet, if there is no default route. An uplink may have only a route to a server.
 */
export function uplinkWithoutDefault(
  { addresses, routes }: Reading,
  { interface: base }: Pick<Settings, "interface">,
): string | null {
  const links = addresses
    .filter(({ ifname }) => !ownLinks(base).includes(ifname))
    .map(({ ifname }) => ifname);
  const found = publicRoutesIn(routes).find(({ dev, isLive }) => isLive && links.includes(dev));
  return found?.dev ?? null;
}

/** Routes to parts of the internet through a router. */
function publicRoutesIn(shown: readonly Route[]): DefaultRoute[] {
  return liveFirst(
    shown.filter(({ dst = "", type }) => {
      const prefix = parsePrefix(dst);
      return prefix !== null && type === undefined && privateBlockOf(addressOf(prefix)) === null;
    }),
  ).filter(({ isRouted }) => isRouted);
}

/** The routers of default routes by these interfaces. */
function routersIn(shown: readonly Route[], counts: (dev: string) => boolean): Address[] {
  const hops = shown.filter(({ dst }) => dst === "default").flatMap((route) => route.nexthops ?? [route]);
  const routers = hops
    .filter(({ dev = "" }) => counts(dev))
    .flatMap(({ gateway = "" }) => parseAddress(gateway) ?? []);
  return [...new Set(routers)].sort();
}

/** IPv4 before IPv6, each by metric. */
async function routesOf(host: Host): Promise<Route[]> {
  const families = await Promise.all(([4, 6] as const).map((family) => showRoutes(host, family)));
  return families.flatMap((routes) => routes.sort((a, b) => (a.metric ?? 0) - (b.metric ?? 0)));
}

function addressesOf(links: readonly AddressedLink[]): Address[] {
  const addresses = links.flatMap(localsOf);
  return addresses.filter((address) => !isLinkLocal(address)).sort();
}

function localsOf({ addr_info }: AddressedLink): Address[] {
  return addr_info.flatMap(({ local = "" }) => parseAddress(local) ?? []);
}

function cableOf({ ifname, link_type, addr_info }: AddressedLink): Cable {
  const prefixesIn = (info: AddressedLink["addr_info"]) =>
    info.flatMap(({ local = "", prefixlen }) => parsePrefix(`${local}/${prefixlen}`) ?? []);
  return {
    interface: ifname,
    isEthernet: link_type === "ether",
    addresses: prefixesIn(addr_info),
    leased: prefixesIn(addr_info.filter(({ dynamic }) => dynamic === true)),
  };
}
