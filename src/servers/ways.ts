import {
  RELAYED_NAMES,
  type RelayedName,
  TRANSPORT_NAMES,
  TRANSPORTS,
  type TransportName,
} from "../transports/list.ts";
import type { Place, Protocol, Reachable } from "../transports/transport.ts";
import type { Blocked, Server } from "./schema.ts";

/** A port of a server, and how it is reached there. */
export interface ServerPath extends Place {
  /** Missing for plain WireGuard. */
  transport?: RelayedName;
  /** A flow of UDP was cut off before. */
  afterCutOff?: true;
}

type WaysTo = Reachable & Pick<Server, "offers" | "transport">;

/**
 * The ways to a server, in the order in which they are tried: what has worked here before, plain WireGuard at its ports,
 * then what else it offers. With `distrusts`, a flow of UDP was cut off here soon: what differs most comes first then.
 */
export function waysToTry(server: WaysTo, known: ServerPath | null, distrusts = false): ServerPath[] {
  const demanded = demandedBy(server) ?? (server.transport === "plain" ? server.transport : null);
  if (demanded !== null) return waysBy(server, demanded, known);
  const all = wishedFor(server, distrusts).flatMap((name) => waysBy(server, name, known));
  const isTrusted = !distrusts || protocolOf(known?.transport) === "tcp";
  const isKnown = ({ port, transport }: ServerPath) => port === known?.port && transport === known.transport;
  const first = known?.transport !== undefined && isTrusted ? all.filter(isKnown) : [];
  const ways = [...new Set([...first, ...all])];
  return distrusts ? ways.map((way) => ({ ...way, afterCutOff: true })) : ways;
}

/** Which of a server's protocols a way uses. */
export function protocolOf(transport: RelayedName | undefined): Protocol {
  return TRANSPORTS[transport ?? "plain"].protocol;
}

/**
 * What a network seems to block if a server was reached in this way, and not in those before it; null if nothing, or if
 * that cannot be told.
 */
export function blockedBefore(
  { transport, afterCutOff }: Pick<ServerPath, "transport" | "afterCutOff">,
  { offers, transport: wish }: Pick<Server, "offers" | "transport">,
): Blocked | null {
  // A requested transport shows nothing about the network, nor does the only way.
  const isOnly = transport !== undefined && TRANSPORTS[transport].offered.by === "configuration";
  if (transport === undefined || isOnly || wish !== undefined) return null;
  // By UDP, the server was reached before anything else by UDP was tried.
  if (afterCutOff) return protocolOf(transport) === "tcp" ? "flows" : null;
  if (protocolOf(transport) === "udp") return "wireguard";
  return RELAYED_NAMES.some((name) => offers?.[name] !== undefined && protocolOf(name) === "udp")
    ? "udp"
    : null;
}

/** Whether the server can be reached in that way. */
export function offers(server: WaysTo, transport: TransportName): boolean {
  return transportsTo(server).includes(transport);
}

/** The transport that its configuration demands, which then is the only one; null if others lead to the server. */
export function demandedBy({ config }: Pick<Reachable, "config">): RelayedName | null {
  const isDemanded = (name: RelayedName) => {
    const { offered } = TRANSPORTS[name];
    return offered.by === "configuration" && offered.isDemanded(config);
  };
  return RELAYED_NAMES.find(isDemanded) ?? null;
}

/** Whether its list offers a way that a relay is needed for. */
export function offersRelay({ offers }: Pick<Server, "offers">): boolean {
  return offers !== undefined;
}

/** In the order in which they are tried. */
function transportsTo(server: WaysTo): TransportName[] {
  const demanded = demandedBy(server);
  return demanded === null ? TRANSPORT_NAMES.filter((name) => isOffered(server, name)) : [demanded];
}

function isOffered({ offers }: WaysTo, name: TransportName): boolean {
  const { by } = TRANSPORTS[name].offered;
  switch (by) {
    case "all":
      return true;
    case "list":
      return offers?.[name] !== undefined;
    case "configuration":
      return false;
  }
}

function wishedFor(server: WaysTo, distrusts: boolean): TransportName[] {
  const { transport: wish } = server;
  const all = transportsTo(server);
  if (wish !== undefined && all.includes(wish)) return [wish];
  return distrusts ? all.toReversed() : all;
}

/** With the known port of the same transport first. */
function waysBy(server: WaysTo, name: TransportName, known: ServerPath | null): ServerPath[] {
  const knownPort = known !== null && (known.transport ?? "plain") === name ? known.port : null;
  const places = TRANSPORTS[name].places(server, knownPort, server.offers?.[name]);
  return name === "plain" ? places : places.map((place) => ({ ...place, transport: name }));
}
