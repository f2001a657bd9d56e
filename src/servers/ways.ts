import { type PortRange, portsToTry } from "./ports.ts";
import type { Relayed, Server } from "./schema.ts";

/** A port of a server, and how it is reached there. */
export interface Way {
  port: number;
  /** Missing for plain WireGuard. */
  transport?: Relayed;
}

/** Where a disguise is tried: the ports say less then. */
const DISGUISED_PORTS = 2;

/**
 * The ways to a server, in the order in which they are tried: what has worked here before, plain WireGuard at its ports,
 * then what else it offers. With `distrusts`, a flow of UDP was cut off here soon: what differs most comes first then.
 */
export function waysToTry(server: WaysTo, known: Way | null, distrusts = false): Way[] {
  const { transport: wish } = server;
  const relayed = ["lwo", "udp2tcp"] as const;
  if (wish === "plain") return waysBy(server, undefined, known);
  const inTurn = [undefined, ...relayed];
  const wished = wish === undefined ? (distrusts ? inTurn.toReversed() : inTurn) : [wish];
  const all = wished.flatMap((by) => waysBy(server, by, known));
  const isTrusted = !distrusts || protocolOf(known?.transport) === "tcp";
  const isKnown = ({ port, transport }: Way) => port === known?.port && transport === known.transport;
  const first = known?.transport !== undefined && isTrusted ? all.filter(isKnown) : [];
  return [...new Set([...first, ...all])];
}

/** Which of a server's protocols a way uses. */
export function protocolOf(transport: Relayed | undefined): "tcp" | "udp" {
  return transport === "udp2tcp" ? "tcp" : "udp";
}

/** Whether the server can be reached in that way. */
export function offers({ lwo, udp2tcp }: Pick<Server, "lwo" | "udp2tcp">, transport: Relayed): boolean {
  return (transport === "lwo" ? lwo : udp2tcp) !== undefined;
}

/** The ways that a relay would be needed for. */
export function offersRelay(server: Pick<Server, "lwo" | "udp2tcp">): boolean {
  return offers(server, "lwo") || offers(server, "udp2tcp");
}

/** With the known port of the same transport first. */
function waysBy(
  { config, ports = [], lwo, udp2tcp = [] }: WaysTo,
  transport: Relayed | undefined,
  known: Way | null,
): Way[] {
  const knownPort = known !== null && known.transport === transport ? known.port : null;
  const byUdp = portsToTry(config.peer.endpoint.port, ports, knownPort);
  if (transport === undefined) return byUdp.map((port) => ({ port }));
  if (transport === "udp2tcp") return udp2tcp.map((port) => ({ port, transport }));
  return lwo === undefined ? [] : byUdp.slice(0, DISGUISED_PORTS).map((port) => ({ port, transport }));
}

type WaysTo = Pick<Server, "lwo" | "udp2tcp" | "transport"> & {
  ports?: readonly PortRange[];
  config: { peer: { endpoint: { port: number } } };
};
