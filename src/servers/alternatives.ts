import { pairOf } from "./hops.ts";
import type { Server } from "./schema.ts";
import { UNKNOWN } from "./tree.ts";

/**
 * Servers that may replace one: those of its city, then those of its country, both by name, starting after its own. If
 * it is reached through an entry, it is not known which of the two is dead. Then they are in turn another exit through
 * the same entry, and the same exit through another entry.
 */
export function alternativesTo(server: Server, servers: readonly Server[]): Server[] {
  if (server.via === undefined) return othersNear(server, servers);
  const named = (name: string) =>
    servers.find((each) => each.provider === server.provider && each.name === name);
  const [exit, entry] = [named(server.name), named(server.via.name)];
  const exits = entry && othersNear(server, servers).flatMap((each) => pairOf(each, entry) ?? []);
  const near = { ...server, ...server.via };
  const entries = exit && othersNear(near, servers).flatMap((each) => pairOf(exit, each) ?? []);
  return inTurn(exits ?? [], entries ?? []);
}

/** The first of each list, then the second of each, and so on. */
function inTurn<T>(some: readonly T[], others: readonly T[]): T[] {
  const turns = Array.from({ length: Math.max(some.length, others.length) }, (_, turn) => turn);
  return turns.flatMap((turn) => [...some.slice(turn, turn + 1), ...others.slice(turn, turn + 1)]);
}

function othersNear(
  server: Pick<Server, "provider" | "name" | "country" | "city">,
  servers: readonly Server[],
): Server[] {
  const others = servers
    .filter((other) => other.provider === server.provider && other.name !== server.name)
    .filter((other) => other.country === server.country && server.country !== UNKNOWN)
    .toSorted((a, b) => compare(a.name, b.name));
  const near = others.filter((other) => other.city === server.city);
  const far = others.filter((other) => other.city !== server.city);
  return [...fromNameOn(server.name, near), ...fromNameOn(server.name, far)];
}

function fromNameOn(name: string, servers: readonly Server[]): Server[] {
  const next = servers.findIndex((server) => compare(server.name, name) > 0);
  return next < 0 ? [...servers] : [...servers.slice(next), ...servers.slice(0, next)];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
