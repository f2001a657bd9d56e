import {
  type Address,
  contains,
  isWithin,
  lengthOf,
  overlap,
  type Prefix,
  parsePrefix,
} from "../base/address.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Lan } from "../network/lan.ts";
import type { LanRoute } from "../network/lan-routes.ts";
import { ROUTED_TABLE } from "../network/slot.ts";
import { tunnelTitle } from "../shared/words.ts";
import type { Host } from "../system/host.ts";
import { type Route, showRoutes } from "../system/ip.ts";

/** A network behind another router of the LAN. */
interface Routed {
  prefix: Prefix;
}

type Network = Pick<HostNetwork, "lans" | "addresses" | "uplinkPrefixes" | "lanRoutes">;
type Tunnels = readonly { tunnel: string; addresses: readonly Address[]; resolvers: readonly Address[] }[];

/** The declared prefixes that a route of the LAN leads to, the most specific first. */
export function routedIn<Declared extends Routed>(
  declared: readonly Declared[],
  network: Network,
  tunnels: Tunnels,
): Declared[] {
  return declared
    .filter(({ prefix }) => interfacesTo(prefix, network).length > 0)
    .filter(({ prefix }) => overlapOf(prefix, network, tunnels) === null)
    .sort((a, b) => lengthOf(b.prefix) - lengthOf(a.prefix) || (a.prefix < b.prefix ? -1 : 1));
}

/** Other owners of addresses of the prefix, for people; null if there are none. */
export function overlapOf(prefix: Prefix, network: Network, tunnels: Tunnels): string | null {
  const { lans, addresses, uplinkPrefixes } = network;
  for (const lan of lans)
    for (const own of lan.mesh ? [] : lan.prefixes)
      if (overlap(prefix, own)) return `the LAN's own ${own} on ${lan.interface}`;
  for (const own of uplinkPrefixes) if (overlap(prefix, own)) return `the uplink's network ${own}`;
  for (const own of addresses) if (contains(prefix, own)) return `the gateway's address ${own}`;
  for (const { tunnel, addresses: inside, resolvers } of tunnels)
    for (const own of [...inside, ...resolvers])
      if (contains(prefix, own)) return `the address ${own} in the ${tunnelTitle(tunnel)}`;
  return null;
}

/** The LAN's interfaces that lead to a part of the prefix. */
export function interfacesTo(prefix: Prefix, { lanRoutes }: Pick<HostNetwork, "lanRoutes">): string[] {
  return [...new Set(routesWithin(prefix, lanRoutes).map((route) => route.interface))];
}

/** The routers that lead to a part of the prefix; null where its hosts are on the cable. */
export function routersTo(prefix: Prefix, { lanRoutes }: Pick<HostNetwork, "lanRoutes">): (Address | null)[] {
  return [...new Set(routesWithin(prefix, lanRoutes).map(({ via }) => via))];
}

/** The LAN, including the networks behind its routers. */
export function lansWith(routed: readonly Routed[], network: Network): Lan[] {
  return network.lans.map((lan) => {
    if (lan.mesh) return lan;
    const further = routed.filter(({ prefix }) => interfacesTo(prefix, network).includes(lan.interface));
    return { ...lan, prefixes: [...lan.prefixes, ...further.map(({ prefix }) => prefix)] };
  });
}

/**
 * The routes to the networks behind routers, as `ip route` takes them, and `unreachable` for the rest. They have a
 * table of their own, because in the machine's table a default route, or one from DHCP, could lead to the uplink.
 */
export function routesTo(
  routed: readonly Routed[],
  { lanRoutes }: Pick<HostNetwork, "lanRoutes">,
): TableRoute[] {
  const all = routed.flatMap(({ prefix }) => routesWithin(prefix, lanRoutes));
  const byPrefix = new Map(all.map((route) => [route.prefix, route]));
  return [
    ...routed.map(({ prefix }) => ({ key: `unreachable ${prefix} metric ${LAST_METRIC}`, to: "" })),
    ...[...byPrefix.values()].map(({ prefix, via, interface: name }) => ({
      key: prefix,
      to: `${via === null ? "" : ` via ${via}`} dev ${name}`,
    })),
  ];
}

/**
 * The routes to the LAN's own prefixes, and `unreachable` for the rest. In the machine's table, a router on the uplink
 * can lead them away by routes to parts of them (DHCP option 121, CVE-2024-3661; router advertisements, RFC 4191).
 */
export function routesToLan({ lans, linkRoutes }: Pick<HostNetwork, "lans" | "linkRoutes">): TableRoute[] {
  const prefixes = lans.flatMap((lan) => lan.prefixes);
  const own = linkRoutes.filter(({ prefix }) => prefixes.includes(prefix));
  return [
    ...own.map(({ prefix }) => ({ key: `unreachable ${prefix} metric ${LAST_METRIC}`, to: "" })),
    ...own.map(({ prefix, interface: name, source }) => ({
      key: prefix,
      to: ` dev ${name}${source === null ? "" : ` src ${source}`}`,
    })),
  ];
}

/** What identifies a route in the table, and where it leads. */
export interface TableRoute {
  key: string;
  to: string;
}

export const LAST_METRIC = 4_294_967_295;

/** A routing table with only the routes that it was given. */
export class RouteTable {
  /**
   * The routes in the kernel; null if unknown. Before the first load there are none, except those that an earlier
   * process has left.
   */
  private routes: readonly TableRoute[] | null = [];

  constructor(
    private readonly host: Host,
    private readonly number: number,
  ) {}

  has(routes: readonly TableRoute[]): boolean {
    return Bun.deepEquals(routes, this.routes);
  }

  /**
   * The next load compares with the kernel, because the kernel silently removes routes when a link or an address
   * disappears.
   */
  forget(): void {
    if (this.routes?.length !== 0) this.routes = null;
  }

  async load(routes: readonly TableRoute[]): Promise<void> {
    if (this.has(routes)) return;
    this.routes = (await applyRoutes(this.host, routes, this.number)) ? routes : null;
  }
}

/**
 * Makes the table of these routes, each replaced in place; returns whether it has them all. The kernel refuses a route
 * to a router that is gone.
 */
export async function applyRoutes(
  host: Host,
  wanted: readonly TableRoute[],
  table = ROUTED_TABLE,
): Promise<boolean> {
  const changes = await Promise.all(
    ([4, 6] as const).map(async (family) => {
      const own = wanted.filter(({ key }) => key.includes(":") === (family === 6));
      return applied(host, family, routeChanges(await shownRoutes(host, family, table), own, table));
    }),
  );
  return changes.every((isDone) => isDone);
}

function routeChanges(
  present: readonly TableRoute[],
  wanted: readonly TableRoute[],
  table: number,
): string[] {
  const missing = wanted.filter((route) => !present.some((other) => Bun.deepEquals(route, other)));
  const surplus = present.filter(({ key }) => !wanted.some((route) => route.key === key));
  return [
    ...missing.map(({ key, to }) => `route replace ${key}${to}${onLink(key, to)} table ${table}`),
    ...surplus.map(({ key, to }) => `route del ${key}${to} table ${table}`),
  ];
}

/**
 * Over IPv6, the kernel looks for a router's own address in the route's table, and then without an incoming interface, so
 * that no rule that leads to the LAN applies: it would refuse the route.
 */
function onLink(key: string, to: string): string {
  return key.includes(":") && to.includes(" via ") ? " onlink" : "";
}

function applied(host: Host, family: 4 | 6, lines: readonly string[]): Promise<boolean> {
  if (lines.length === 0) return Promise.resolve(true);
  return host.run(["ip", `-${family}`, "-force", "-batch", "-"], { stdin: `${lines.join("\n")}\n` }).then(
    () => true,
    () => false,
  );
}

async function shownRoutes(host: Host, family: 4 | 6, table: number): Promise<TableRoute[]> {
  // The kernel has no such table before its first route.
  const shown = await showRoutes(host, family, "table", `${table}`).catch((): Route[] => []);
  return shown.flatMap(({ dst = "", gateway, dev, type, metric, prefsrc }) => {
    const prefix = parsePrefix(dst);
    if (prefix === null) return [];
    if (type === "unreachable") return [{ key: `unreachable ${prefix} metric ${metric}`, to: "" }];
    const [via, source] = [
      gateway === undefined ? "" : ` via ${gateway}`,
      prefsrc === undefined ? "" : ` src ${prefsrc}`,
    ];
    return [{ key: prefix, to: `${via} dev ${dev}${source}` }];
  });
}

/** The parts of the prefix that have a route of their own, and the whole prefix if a route leads to all of it. */
function routesWithin(prefix: Prefix, routes: readonly LanRoute[]): LanRoute[] {
  const inside = routes.filter((route) => isWithin(route.prefix, prefix));
  const [around] = routes
    .filter((route) => isWithin(prefix, route.prefix))
    .sort((a, b) => lengthOf(b.prefix) - lengthOf(a.prefix));
  const whole = around === undefined ? [] : [{ ...around, prefix }];
  return [...whole, ...inside.filter((route) => route.prefix !== prefix)];
}

export function meshPrefixes({ lans }: Pick<HostNetwork, "lans">): Prefix[] {
  return lans.flatMap(({ mesh, prefixes }) => (mesh ? prefixes : []));
}
