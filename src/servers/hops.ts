import { GatewayError } from "../base/errors.ts";
import type { Place } from "./place.ts";
import type { Provider, Server } from "./schema.ts";
import type { Listed } from "./tree.ts";

/** An exit that is reached through an entry, where at least one of them is to be chosen from a place. */
export interface Hops {
  /** The client's words for the exit. */
  name: string;
  provider: Provider;
  /** The exit without its entry. */
  exit: Server | Place;
  entry: Server | Place;
}

/** The facts that decide whether two servers can be exit and entry. */
type Hop = Pick<Listed, "name" | "label" | "multihopPort"> & Pick<Server, "registers">;

/**
 * The exit as it is reached through the entry: packets go to the entry's address, and the port there says to which
 * server the entry forwards them. Throws `bad_request` if the two cannot be combined.
 */
export function reachedVia(exit: Server, entry: Server): Server {
  const fault = pairFault(exit, entry);
  if (fault !== null) throw new GatewayError("bad_request", fault);
  return paired(exit, entry);
}

/** Null if the two cannot be combined. */
export function pairOf(exit: Server, entry: Server): Server | null {
  return areFit(exit, entry) ? paired(exit, entry) : null;
}

export function areFit(exit: Hop, entry: Hop): boolean {
  return pairFault(exit, entry) === null;
}

/** The servers of a place that can be reached through the entry, each as it is reached. */
export function placeVia(place: Place, entry: Server): Place {
  return { ...place, servers: place.servers.flatMap((exit) => pairOf(exit, entry) ?? []) };
}

/** The server for people, with its entry. */
export function titleOf({ name, via }: Pick<Server, "name" | "via">): string {
  return viaText(name, via?.name);
}

export function viaText(name: string, via: string | undefined): string {
  return via === undefined ? name : `${name} via ${via}`;
}

/** Why a server cannot be the exit of two hops; null if it can. */
export function exitFault({ name, multihopPort, registers }: Hop): string | null {
  if (registers)
    return `server: ${name} cannot be reached through another server, because the gateway registers with it for each connection; leave out via`;
  return multihopPort === undefined
    ? `server: ${name} cannot be reached through another server, because its list has no multi-hop port for it; leave out via or choose another server`
    : null;
}

function entryFault({ name, registers }: Hop): string | null {
  return registers
    ? `via: ${name} cannot be the entry, because the gateway registers with it for each connection; choose another entry`
    : null;
}

function pairFault(exit: Hop, entry: Hop): string | null {
  if (exit.name === entry.name)
    return `via: ${entry.name} cannot be entry and exit at once; choose another entry`;
  if (exit.label !== entry.label)
    return `via: ${entry.name} is a server of ${entry.label} and ${exit.name} one of ${exit.label}; choose an entry of the same provider`;
  return exitFault(exit) ?? entryFault(entry);
}

/** The entry forwards what comes at this one port. */
function paired({ ports: _, offers: __, ...exit }: Server, entry: Server): Server {
  const { name, country, city } = entry;
  const { peer } = exit.config;
  const endpoint = { host: entry.config.peer.endpoint.host, port: exit.multihopPort ?? peer.endpoint.port };
  return { ...exit, via: { name, country, city }, config: { ...exit.config, peer: { ...peer, endpoint } } };
}
