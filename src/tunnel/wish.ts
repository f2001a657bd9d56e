import { isIn, type Place } from "../servers/place.ts";
import type { Server } from "../servers/schema.ts";
import { sameServer } from "./session.ts";

/** Where a client wants to go: to a server, or to the nearest one of a place. */
export type Wish = Server | Place;

export function isPlace(wanted: Wish): wanted is Place {
  return "servers" in wanted;
}

export function candidatesOf(wanted: Wish): readonly Server[] {
  return isPlace(wanted) ? wanted.servers : [wanted];
}

export function isWhatIsWanted(wanted: Wish, server: Server): boolean {
  return isPlace(wanted)
    ? wanted.provider === server.provider && isIn(wanted, server)
    : sameServer(wanted, server);
}

export function sameWish(one: Wish, other: Wish): boolean {
  if (one.provider !== other.provider || isPlace(one) !== isPlace(other)) return false;
  return isPlace(one) ? one.country === other.country && one.city === other.city : one.name === other.name;
}
