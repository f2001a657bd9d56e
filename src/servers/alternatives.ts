import type { Server } from "./schema.ts";
import { UNKNOWN } from "./tree.ts";

/** Servers that may replace one: those of its city, then those of its country, both by name, starting after its own. */
export function alternativesTo(server: Server, servers: readonly Server[]): Server[] {
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
