import { type PortRange, portsToTry } from "./ports.ts";
import type { Server } from "./schema.ts";

/** A port of a server, and how it is reached there. */
export interface Way {
  port: number;
  /** Missing for plain WireGuard. */
  transport?: "udp2tcp";
}

/**
 * The ways to a server, in the order in which they are tried: what has worked here before, plain WireGuard at its ports,
 * then what else it offers. With `distrusts`, plain WireGuard was cut off here, and comes last.
 */
export function waysToTry(
  { config, ports = [], udp2tcp = [], transport }: WaysTo,
  known: Way | null,
  distrusts = false,
): Way[] {
  const usual = config.peer.endpoint.port;
  const knownPort = known !== null && known.transport === undefined ? known.port : null;
  const plain = portsToTry(usual, ports, knownPort).map((port): Way => ({ port }));
  const tcp = udp2tcp.map((port): Way => ({ port, transport: "udp2tcp" }));
  if (transport === "plain") return plain;
  const inTurn = distrusts ? [...tcp, ...plain] : [...plain, ...tcp];
  const first = known === null ? [] : tcp.filter(({ port }) => known.transport && port === known.port);
  const all = transport === "udp2tcp" ? tcp : inTurn;
  return [...new Set([...first, ...all])];
}

type WaysTo = Pick<Server, "udp2tcp" | "transport"> & {
  ports?: readonly PortRange[];
  config: { peer: { endpoint: { port: number } } };
};
