import { isIpv4 } from "../base/address.ts";
import type { Server, ServerRecord, ServerTree } from "./schema.ts";

/**
 * The fields of a server that the tree needs. A managed one is listed even without an account, and so without a config.
 */
export type Listed = Pick<Server, "name" | "label" | "country" | "city" | "multihopPort"> & {
  ipv4: string;
  /** It is reached by AmneziaWG. */
  amnezia?: boolean;
};

/** Country → city → records, each level sorted. */
export function treeOf(servers: readonly Listed[]): ServerTree {
  const tree = dictionary<Record<string, ServerRecord[]>>();
  for (const [country, inCountry] of groupsOf(servers, (server) => server.country)) {
    const cities = dictionary<ServerRecord[]>();
    for (const [city, inCity] of groupsOf(inCountry, (server) => server.city))
      cities[city] = inCity.toSorted((a, b) => order(a.name, b.name)).map(recordOf);
    tree[country] = cities;
  }
  return tree;
}

export function listed(server: Server): Listed {
  return { ...server, ipv4: ipv4Of(server), amnezia: server.config.interface.amnezia !== undefined };
}

/** The endpoint's address if it is IPv4, otherwise empty. */
export function ipv4Of(server: Pick<Server, "config">): string {
  const { host } = server.config.peer.endpoint;
  return isIpv4(host) ? host : "";
}

/** `City, Country`, split at the last comma; without a comma, all of it is the country. */
export function placeOf(location: string): { country: string; city: string } {
  const comma = location.lastIndexOf(",");
  const country = location.slice(comma + 1).trim();
  const city = location.slice(0, Math.max(0, comma)).trim();
  return { country: country || UNKNOWN, city: city || UNKNOWN };
}

/** The country and city of a server without a location; two such servers do not share a place. */
export const UNKNOWN = "Unknown";

function recordOf(server: Listed): ServerRecord {
  const { name, ipv4, label, multihopPort, amnezia } = server;
  const multihop = multihopPort === undefined ? {} : { multihop: true as const };
  return {
    ...{ hostname: name, ipv4, type: "WireGuard", provider: label, ...multihop },
    ...(amnezia && { amnezia: true as const }),
  };
}

/** Sorted by name. Sorting the groups takes much less time than sorting 20,000 servers. */
function groupsOf(servers: readonly Listed[], keyOf: (server: Listed) => string): [string, Listed[]][] {
  return [...Map.groupBy(servers, keyOf)].sort(([a], [b]) => order(a, b));
}

function order(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** Without a prototype, `__proto__` and `constructor` are names like any other. */
function dictionary<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>;
}
