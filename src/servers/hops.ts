import type { GatewayError } from "../base/errors.ts";
import type { Place } from "./place.ts";
import { refused } from "./refusals.ts";
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
  if (fault !== null) throw fault;
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
export function exitFault({ name: server, multihopPort, registers }: Hop): GatewayError | null {
  if (registers) return refused("exit_registers", { server });
  return multihopPort === undefined ? refused("exit_without_port", { server }) : null;
}

function pairFault(exit: Hop, entry: Hop): GatewayError | null {
  if (exit.name === entry.name) return refused("entry_is_exit", { server: entry.name });
  if (exit.label !== entry.label)
    return refused("entry_of_other_provider", {
      ...{ entry: entry.name, provider: `${entry.label}`, server: exit.name, other: `${exit.label}` },
    });
  return exitFault(exit) ?? (entry.registers ? refused("entry_registers", { server: entry.name }) : null);
}

/** The entry forwards what comes at this one port. */
function paired({ ports: _, offers: __, ...exit }: Server, entry: Server): Server {
  const { name, country, city } = entry;
  const { peer } = exit.config;
  const endpoint = { host: entry.config.peer.endpoint.host, port: exit.multihopPort ?? peer.endpoint.port };
  return { ...exit, via: { name, country, city }, config: { ...exit.config, peer: { ...peer, endpoint } } };
}
