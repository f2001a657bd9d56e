import { isIn, type Place } from "../servers/place.ts";
import type { Server } from "../servers/schema.ts";
import { sameServer } from "./session.ts";

/** What a client connects to: a server, or the nearest one of a place. */
export type Target = Server | Place;

export function isPlace(wanted: Target): wanted is Place {
  return "servers" in wanted;
}

export function candidatesOf(wanted: Target): readonly Server[] {
  return isPlace(wanted) ? wanted.servers : [wanted];
}

export function leadsTo(wanted: Target, server: Server): boolean {
  return isPlace(wanted)
    ? wanted.provider === server.provider && isIn(wanted, server)
    : sameServer(wanted, server);
}

export function sameTarget(one: Target, other: Target): boolean {
  if (one.provider !== other.provider || isPlace(one) !== isPlace(other)) return false;
  return isPlace(one) ? one.country === other.country && one.city === other.city : one.name === other.name;
}
