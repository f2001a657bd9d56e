import { type Address, contains, lengthOf, parsePrefix } from "../base/address.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Route } from "../system/ip.ts";

/**
 * The route of the machine's own by which a server is reached if that is not the default one, as `ip route` takes it;
 * null if there is none. DHCP (options 33, 121 and 249) and router advertisements (RFC 4191) can set one that leads
 * away from the server.
 */
export function detourTo(
  server: Address,
  routes: readonly Route[],
  { routers }: Pick<HostNetwork, "routers">,
): string | null {
  // Without a default route, a route to the server is the operator's.
  if (routers.length === 0) return null;
  const [best] = routes
    .flatMap((route) => {
      const prefix = parsePrefix(route.dst ?? "");
      return prefix !== null && contains(prefix, server) ? [{ route, length: lengthOf(prefix) }] : [];
    })
    .sort((a, b) => b.length - a.length || (a.route.metric ?? 0) - (b.route.metric ?? 0));
  if (best === undefined || isUsual(best.route, routers)) return null;
  const { type, dst, gateway, dev } = best.route;
  return [
    type ?? [],
    dst,
    gateway === undefined ? [] : ["via", gateway],
    dev === undefined ? [] : ["dev", dev],
  ]
    .flat()
    .join(" ");
}

/** Whether a route leads to a router of a default route, or to the uplink's own cable. */
function isUsual({ type, protocol, gateway, nexthops }: Route, routers: readonly string[]): boolean {
  if (type !== undefined) return false;
  const hops = nexthops?.map((hop) => hop.gateway) ?? [gateway];
  return hops.some((hop) => (hop === undefined ? protocol === "kernel" : routers.includes(hop)));
}
