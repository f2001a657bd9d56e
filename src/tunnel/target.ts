import type { Hops } from "../servers/hops.ts";
import { isIn, type Place } from "../servers/place.ts";
import { quantumIn } from "../servers/quantum.ts";
import type { Quantum, Server, Wish } from "../servers/schema.ts";
import { wishIn } from "../servers/transport.ts";
import type { Connection } from "./connection.ts";
import type { Order, OrderTarget, Rules } from "./order.ts";
import { sameServer } from "./session.ts";

/** The target of a connect: a server, the nearest one of a place, or two hops of which one is to be chosen. */
export type Target = Server | Place | Hops;

export function isPlace(wanted: Target): wanted is Place {
  return "servers" in wanted;
}

export function isHops(wanted: Target): wanted is Hops {
  return "entry" in wanted;
}

/** The servers of a place, or the server itself. */
export function candidatesOf(wanted: Server | Place): readonly Server[] {
  return isPlace(wanted) ? wanted.servers : [wanted];
}

export function leadsTo(wanted: Target, server: Server): boolean {
  if (wanted.provider !== server.provider || wishIn(wanted) !== server.transport) return false;
  if (quantumIn(wanted) !== server.quantum) return false;
  const { via } = server;
  if (isHops(wanted)) return via !== undefined && isMeant(wanted.exit, server) && isMeant(wanted.entry, via);
  return isPlace(wanted) ? via === undefined && isIn(wanted, server) : sameServer(wanted, server);
}

export function sameTargets(some: readonly Target[], others: readonly Target[]): boolean {
  return (
    some.length === others.length &&
    some.every((one, at) => {
      const other = others[at];
      return other !== undefined && sameTarget(one, other);
    })
  );
}

export function sameTarget(one: Target, other: Target): boolean {
  if (wishIn(one) !== wishIn(other) || quantumIn(one) !== quantumIn(other)) return false;
  if (isHops(one) || isHops(other))
    return (
      isHops(one) && isHops(other) && sameTarget(one.exit, other.exit) && sameTarget(one.entry, other.entry)
    );
  if (!isPlace(one) && !isPlace(other)) return sameServer(one, other);
  return (
    isPlace(one) &&
    isPlace(other) &&
    one.provider === other.provider &&
    one.country === other.country &&
    one.city === other.city
  );
}

/** The target of a tunnel, as clients name it. */
export interface TargetSpec {
  server: string;
  via?: string;
  transport?: Wish;
  quantum?: Exclude<Quantum, "off">;
}

export function specOf(wanted: Target): TargetSpec {
  const via = isHops(wanted) ? wanted.entry.name : isPlace(wanted) ? undefined : wanted.via?.name;
  const [transport, quantum] = [wishIn(wanted), quantumIn(wanted)];
  return {
    server: wanted.name,
    ...(via !== undefined && { via }),
    ...(transport !== undefined && { transport }),
    ...(quantum !== undefined && { quantum }),
  };
}

/** The keys are the tunnel's, whatever target it takes. */
function orderTargetOf(wanted: Target): OrderTarget {
  const { quantum: _, ...spec } = specOf(wanted);
  return { provider: wanted.provider, ...spec };
}

/** The server at the end of the way. */
export function exitOf(wanted: Target): Server | Place {
  return isHops(wanted) ? wanted.exit : wanted;
}

/**
 * What was requested: countries and cities, and the order of which they are a part. It is saved with the servers that
 * were chosen for it.
 */
export type Asked = Pick<Connection, "wanted" | "wanted_via" | "order">;

/** Where a tunnel may be led by itself, and as what. */
export interface Candidate {
  target: Target;
  asked: Asked;
}

/**
 * What a tunnel can be led to beside its live session, the best first. Without other ways to the present server: it would
 * take both for one tunnel, and a handshake by the one would end the other.
 */
export function besideOf(
  order: Order,
  { provider, name }: Server,
  found: (wanted: OrderTarget) => Target | null,
): Candidate[] {
  const isPresent = (other: Server) => other.provider === provider && other.name === name;
  return order.targets.flatMap((wanted, at) => {
    const target = found(wanted);
    if (target === null || candidatesOf(exitOf(target)).some(isPresent)) return [];
    return { target, asked: { ...placesIn(target), order: { ...order, at } } };
  });
}

/** What is requested with the target at this place of an order. */
export function askedIn(targets: readonly Target[], at: number, rules: Rules): Asked {
  const wanted = targets[at];
  if (wanted === undefined) return {};
  const order = targets.length > 1 ? { order: { targets: targets.map(orderTargetOf), at, ...rules } } : {};
  return { ...placesIn(wanted), ...order };
}

export function placesIn(wanted: Target): Omit<Asked, "order"> {
  const { exit, entry } = isHops(wanted) ? wanted : { exit: wanted, entry: null };
  return {
    ...(isPlace(exit) && { wanted: exit.name }),
    ...(entry !== null && isPlace(entry) && { wanted_via: entry.name }),
  };
}

/** A connection to the server, as it is saved. */
export function connectionTo(
  { provider, name, via, transport, quantum, registers, ...server }: Server,
  since: number,
  { wanted, wanted_via, order }: Asked = {},
): Connection {
  return {
    provider,
    name,
    ...(via !== undefined && { via: via.name }),
    ...(wanted !== undefined && { wanted }),
    ...(wanted_via !== undefined && { wanted_via }),
    ...(transport !== undefined && { transport }),
    ...(quantum !== undefined && { quantum }),
    ...(order !== undefined && { order }),
    // A new process could not know what was assigned to this connection.
    ...(registers && { assigned: server }),
    since,
  };
}

/** Whether a saved connection is to this server. */
export function isTo(saved: Connection, { provider, name, via }: Server): boolean {
  return saved.provider === provider && saved.name === name && saved.via === via?.name;
}

/** Whether a server, through whatever entry it is reached, is the wanted one, or in the wanted place. */
function isMeant(wanted: Server | Place, found: Pick<Server, "name" | "country" | "city">): boolean {
  return isPlace(wanted) ? isIn(wanted, found) : wanted.name === found.name;
}
