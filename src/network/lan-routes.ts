import {
  type Address,
  addressOf,
  isWithin,
  lengthOf,
  type Prefix,
  parseAddress,
  parsePrefix,
  privateBlockOf,
} from "../base/address.ts";
import type { Route } from "../system/ip.ts";
import type { Lan } from "./lan.ts";

/** A route to a network behind another router of the LAN. */
export interface LanRoute {
  prefix: Prefix;
  /** Null if its hosts are on the cable. */
  via: Address | null;
  interface: string;
}

/** The route to a prefix of the LAN's own link. */
export interface LinkRoute {
  prefix: Prefix;
  interface: string;
  /** The gateway's address there; null if the kernel chooses one, as for IPv6. */
  source: Address | null;
}

/** The kernel's own routes, and routes that the network has advertised, possibly by an attacker. */
const NOT_THE_OPERATORS = ["kernel", "dhcp", "ra", "redirect"];

/** The operator's routes to private networks by one of these interfaces, each prefix once, in a fixed order. */
export function lanRoutesIn(shown: readonly Route[], interfaces: readonly string[]): LanRoute[] {
  const routes = shown
    .filter(
      ({ protocol = "", dev = "" }) => !NOT_THE_OPERATORS.includes(protocol) && interfaces.includes(dev),
    )
    .toSorted((a, b) => (a.metric ?? 0) - (b.metric ?? 0))
    .flatMap((route) => routeIn(route) ?? []);
  // The first route of a prefix has the lowest metric, and the last one of a key stays in a map.
  const byPrefix = new Map(routes.toReversed().map((route) => [route.prefix, route]));
  return [...byPrefix.values()].sort((a, b) => (a.prefix < b.prefix ? -1 : 1));
}

/** The routes to the LAN's own prefixes. Each prefix occurs once, with the route of the lowest metric. */
export function linkRoutesIn(shown: readonly Route[], lans: readonly Lan[]): LinkRoute[] {
  const routes = shown
    .filter(({ gateway, via, type }) => gateway === undefined && via === undefined && type === undefined)
    .toSorted((a, b) => (a.metric ?? 0) - (b.metric ?? 0))
    .flatMap(({ dst = "", dev = "", prefsrc }) => {
      const prefix = parsePrefix(dst);
      const isLans = lans.some(
        (lan) => lan.interface === dev && prefix !== null && lan.prefixes.includes(prefix),
      );
      if (prefix === null || !isLans) return [];
      return { prefix, interface: dev, source: prefsrc === undefined ? null : parseAddress(prefsrc) };
    });
  const byPrefix = new Map(routes.toReversed().map((route) => [route.prefix, route]));
  return [...byPrefix.values()].sort((a, b) => (a.prefix < b.prefix ? -1 : 1));
}

/**
 * Routes that lead to a part of the LAN by another interface, as `ip` writes them. The kernel's own routes, of a
 * network that is within the LAN's prefix, do not count.
 */
export function routesAgainst(shown: readonly Route[], lans: readonly Lan[]): string[] {
  const names = lans.map((lan) => lan.interface);
  const prefixes = lans.flatMap((lan) => lan.prefixes);
  return shown
    .filter(({ dev, protocol }) => dev !== undefined && !names.includes(dev) && protocol !== "kernel")
    .filter(({ dst = "" }) => {
      const prefix = parsePrefix(dst);
      return prefix !== null && prefixes.some((own) => isWithin(prefix, own));
    })
    .map(({ dst, gateway, dev }) => `${dst}${gateway === undefined ? "" : ` via ${gateway}`} dev ${dev}`)
    .sort();
}

/** The route, or null if it is of another kind. */
function routeIn({ dst = "", gateway, dev = "", type, via }: Route): LanRoute | null {
  const prefix = parsePrefix(dst);
  const router = gateway === undefined ? null : parseAddress(gateway);
  const isPlain = type === undefined && via === undefined && (gateway === undefined || router !== null);
  return prefix === null || !isPlain || !isPrivateWhole(prefix)
    ? null
    : { prefix, via: router, interface: dev };
}

/** Whether it is private address space, without addresses that are unique only on a link. */
export function isPrivateWhole(prefix: Prefix): boolean {
  const block = privateBlockOf(addressOf(prefix));
  return block !== null && !/^(169\.254\.|fe80:)/.test(block) && lengthOf(prefix) >= lengthOf(block);
}
