import type { Hops } from "../servers/hops.ts";
import { isIn, type Place } from "../servers/place.ts";
import { quantumIn } from "../servers/quantum.ts";
import type { Quantum, Server, Wish } from "../servers/schema.ts";
import { wishIn } from "../servers/transport.ts";
import type { Connection } from "./connection.ts";
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

/** The target of a tunnel, in the words of the client. */
export interface Words {
  server: string;
  via?: string;
  transport?: Wish;
  quantum?: Exclude<Quantum, "off">;
}

export function wordsOf(wanted: Target): Words {
  const via = isHops(wanted) ? wanted.entry.name : isPlace(wanted) ? undefined : wanted.via?.name;
  const [transport, quantum] = [wishIn(wanted), quantumIn(wanted)];
  return {
    server: wanted.name,
    ...(via !== undefined && { via }),
    ...(transport !== undefined && { transport }),
    ...(quantum !== undefined && { quantum }),
  };
}

/** The server at the end of the way. */
export function exitOf(wanted: Target): Server | Place {
  return isHops(wanted) ? wanted.exit : wanted;
}

/** The countries and cities that were requested. They are saved with the servers that were chosen for them. */
export type Places = Pick<Connection, "wanted" | "wanted_via">;

export function placesIn(wanted: Target): Places {
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
  places: Places = {},
): Connection {
  const { wanted, wanted_via } = places;
  return {
    provider,
    name,
    ...(via !== undefined && { via: via.name }),
    ...(wanted !== undefined && { wanted }),
    ...(wanted_via !== undefined && { wanted_via }),
    ...(transport !== undefined && { transport }),
    ...(quantum !== undefined && { quantum }),
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
