import type { Address } from "../base/address.ts";
import { type PortRange, portsToTry } from "./ports.ts";
import type { Blocked, Offered, Relayed, Server } from "./schema.ts";

/** A port of a server, and how it is reached there. */
export interface Way {
  port: number;
  /** Missing if it is the server's usual one. */
  address?: Address;
  /** Missing for plain WireGuard. */
  transport?: Relayed;
  /** A flow of UDP was cut off before. */
  afterCutOff?: true;
}

/** Where a disguise is tried: the ports say less then. */
const DISGUISED_PORTS = 2;
const ALL_PORTS: readonly PortRange[] = [[1, 65_535]];

/**
 * The ways to a server, in the order in which they are tried: what has worked here before, plain WireGuard at its ports,
 * then what else it offers. With `distrusts`, a flow of UDP was cut off here soon: what differs most comes first then.
 */
export function waysToTry(server: WaysTo, known: Way | null, distrusts = false): Way[] {
  const { transport: wish } = server;
  const relayed = ["lwo", "shadowsocks", "udp2tcp"] as const;
  if (isOfAmnezia(server)) return [{ port: server.config.peer.endpoint.port, transport: "amnezia" }];
  if (wish === "plain") return waysBy(server, undefined, known);
  const inTurn = [undefined, ...relayed];
  const wished =
    wish === undefined || wish === "amnezia" ? (distrusts ? inTurn.toReversed() : inTurn) : [wish];
  const all = wished.flatMap((by) => waysBy(server, by, known));
  const isTrusted = !distrusts || protocolOf(known?.transport) === "tcp";
  const isKnown = ({ port, transport }: Way) => port === known?.port && transport === known.transport;
  const first = known?.transport !== undefined && isTrusted ? all.filter(isKnown) : [];
  const ways = [...new Set([...first, ...all])];
  return distrusts ? ways.map((way) => ({ ...way, afterCutOff: true })) : ways;
}

/** Which of a server's protocols a way uses. */
export function protocolOf(transport: Relayed | undefined): "tcp" | "udp" {
  return transport === "udp2tcp" ? "tcp" : "udp";
}

/**
 * What a network seems to block if a server was reached in this way, and not in those before it; null if nothing, or if
 * that cannot be told.
 */
export function blockedBefore(
  { transport, afterCutOff }: Pick<Way, "transport" | "afterCutOff">,
  server: Pick<Server, Offered | "transport">,
): Blocked | null {
  // What was asked for says nothing of the network, nor does the only way.
  if (transport === undefined || transport === "amnezia" || server.transport !== undefined) return null;
  // By UDP, the server was reached before anything else by UDP was tried.
  if (afterCutOff) return protocolOf(transport) === "tcp" ? "flows" : null;
  if (protocolOf(transport) === "udp") return "wireguard";
  return server.lwo !== undefined || server.shadowsocks !== undefined ? "udp" : null;
}

/** Whether the server can be reached in that way. */
export function offers(server: WaysTo, transport: Relayed): boolean {
  const isOnly = isOfAmnezia(server);
  return transport === "amnezia" ? isOnly : !isOnly && server[transport] !== undefined;
}

/** Whether a server is reached by AmneziaWG, and in no other way. */
export function isOfAmnezia({ config }: Pick<WaysTo, "config">): boolean {
  return config.interface.amnezia !== undefined;
}

/** The ways that a relay would be needed for. */
export function offersRelay({ lwo, shadowsocks, udp2tcp }: Pick<Server, Offered>): boolean {
  return [lwo, shadowsocks, udp2tcp].some((each) => each !== undefined);
}

/** With the known port of the same transport first. */
function waysBy(server: WaysTo, transport: Offered | undefined, known: Way | null): Way[] {
  const { config, ports = [], udp2tcp = [] } = server;
  const knownPort = known !== null && known.transport === transport ? known.port : null;
  const byUdp = portsToTry(config.peer.endpoint.port, ports, knownPort);
  if (transport === undefined) return byUdp.map((port) => ({ port }));
  if (transport === "udp2tcp") return udp2tcp.map((port) => ({ port, transport }));
  if (!offers(server, transport)) return [];
  const disguised = transport === "lwo" ? byUdp.map((port) => ({ port })) : byShadowsocks(server, knownPort);
  return disguised.slice(0, DISGUISED_PORTS).map((way) => ({ ...way, transport }));
}

/** One of its addresses for that alone, which has every port, and its usual one, in turn. */
function byShadowsocks({ shadowsocks }: WaysTo, known: number | null): Way[] {
  const { ports = [], addresses = [] } = shadowsocks ?? {};
  const [address] = addresses;
  const own =
    address === undefined ? [] : portsToTry(null, ALL_PORTS, known).map((port) => ({ address, port }));
  const usual = portsToTry(null, ports, known).map((port) => ({ port }));
  return own.flatMap((way, at) => [way, ...usual.slice(at, at + 1)]).concat(usual.slice(own.length));
}

type WaysTo = Pick<Server, Offered | "transport"> & {
  ports?: readonly PortRange[];
  config: { interface: Pick<Server["config"]["interface"], "amnezia">; peer: { endpoint: { port: number } } };
};
