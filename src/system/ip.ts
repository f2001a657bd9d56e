import type { Address } from "../base/address.ts";
import type { Host } from "./host.ts";

/** A link, as `ip -j` prints it (ip(8)): here and below, the fields that the gateway reads. */
export interface Link {
  ifname: string;
  mtu: number;
  /** `none` for tunnels of other programs, such as a VPN that the operator connects through. */
  link_type: string;
  /** `UP`, `NO-CARRIER`. */
  flags: string[];
  linkinfo?: { info_kind?: string; info_slave_kind?: string };
}

export interface AddressedLink extends Link {
  addr_info: LinkAddress[];
}

interface LinkAddress {
  family?: string;
  local?: string;
  prefixlen: number;
  /** It has an end: a DHCP server has leased it, or a router has advertised its prefix. */
  dynamic?: boolean;
  tentative?: boolean;
}

export interface Route {
  /** `default`, a prefix, or an address alone. */
  dst?: string;
  gateway?: string;
  dev?: string;
  type?: string;
  protocol?: string;
  metric?: number;
  prefsrc?: string;
  flags?: string[];
  /** The IPv6 router of an IPv4 route. */
  via?: unknown;
  /** The routers, if there are several. */
  nexthops?: { dev?: string; gateway?: string; flags?: string[] }[];
  /** Only if all tables are shown, and not for `main`. */
  table?: string;
  metrics?: { mtu?: number }[];
}

export interface Rule {
  priority: number;
  not?: null;
  src?: string;
  srclen?: number;
  dst?: string;
  dstlen?: number;
  fwmark?: string;
  /** Absent if all bits count. */
  fwmask?: string;
  ipproto?: string;
  sport?: number;
  dport?: number;
  sport_mask?: string;
  dport_mask?: string;
  iif?: string;
  oif?: string;
  table?: string;
  action?: string;
  suppress_prefixlen?: number;
  /** Present while the interface does not exist. */
  iif_detached?: null;
  oif_detached?: null;
}

/** Ages are in seconds. */
export interface Neighbour {
  dst?: string;
  dev?: string;
  lladdr?: string;
  confirmed?: number;
  updated?: number;
  state?: string[];
  /** Present if it has advertised itself as a router. */
  router?: null;
}

type Runs = Pick<Host, "run" | "listed">;
type Family = 4 | 6;

export function showLinks(host: Runs): Promise<Link[]> {
  return shown(host, "link", "show");
}

/** With `linkinfo`. */
export function showLinkDetails(host: Runs, ...which: string[]): Promise<Link[]> {
  return shown(host, "-d", "link", "show", ...which);
}

export function showAddresses(host: Runs, ...which: string[]): Promise<AddressedLink[]> {
  return shown(host, "address", "show", ...which);
}

/** Without links that have no address of the family. */
export async function showAddressesOf(
  host: Runs,
  family: Family,
  ...which: string[]
): Promise<AddressedLink[]> {
  const links: Partial<AddressedLink>[] = await shown(host, `-${family}`, "address", "show", ...which);
  return links.filter((link): link is AddressedLink => link.addr_info !== undefined);
}

export function showRoutes(host: Runs, family: Family, ...which: string[]): Promise<Route[]> {
  return shown(host, `-${family}`, "route", "show", ...which);
}

/**
 * The longest packet with this mark that the kernel sends to an address, in bytes: the route's MTU, or what a router on the
 * way has said. Null if only the link limits it.
 */
export async function mtuTo(host: Runs, address: Address, mark: number): Promise<number | null> {
  const [route] = await shown<Route>(host, "route", "get", address, "mark", String(mark));
  return route?.metrics?.find(({ mtu }) => mtu !== undefined)?.mtu ?? null;
}

export function showRules(host: Runs, family: Family): Promise<Rule[]> {
  return shown(host, `-${family}`, "rule", "show");
}

/** With ages. */
export function showNeighbours(host: Runs): Promise<Neighbour[]> {
  return shown(host, "-s", "neigh", "show");
}

async function shown<Kind>(host: Runs, ...words: string[]): Promise<Kind[]> {
  const listed = await host.listed?.(words);
  if (listed != null) return listed as Kind[];
  // Some versions print nothing instead of an empty list.
  return JSON.parse((await host.run(["ip", "-j", ...words])) || "[]") as Kind[];
}
