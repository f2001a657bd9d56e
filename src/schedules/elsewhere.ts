import type { Catalogue } from "../servers/catalogue.ts";
import { pairOf, titleOf } from "../servers/hops.ts";
import { MAX_ASKED, type Place, spread } from "../servers/place.ts";
import { keyedLike } from "../servers/quantum.ts";
import type { Server } from "../servers/schema.ts";
import { reachedLike } from "../servers/transport.ts";
import { refused } from "./refusals.ts";

/**
 * Other servers of the place that was requested, or if that was one server, of its city or else its country. They are a
 * few at random, so that the same two do not take turns. With two hops, the entry stays. Throws `unable` if there is
 * none.
 */
export function elsewhere(
  catalogue: Pick<Catalogue, "find" | "server">,
  current: Server,
  wanted: string,
): Place {
  const { provider, city, country } = current;
  const found = placeOf(catalogue, wanted, provider);
  const spots = found === null ? [`${city}, ${country}`, country] : [wanted];
  for (const spot of spots) {
    const place = placeOf(catalogue, spot, provider);
    const servers = spread(
      place?.servers.flatMap((each) => wayTo(catalogue, each, current)) ?? [],
      MAX_ASKED,
    );
    if (place !== null && servers.length > 0) return { ...place, servers };
  }
  const where = found === null ? `the city and the country of ${titleOf(current)}` : wanted;
  throw refused("nowhere_else", { place: where });
}

function placeOf(
  catalogue: Pick<Catalogue, "find">,
  name: string,
  provider: Server["provider"],
): Place | null {
  try {
    const found = catalogue.find(name, undefined, provider);
    return "servers" in found ? found : null;
  } catch {
    return null;
  }
}

/** The server as it is reached instead of the current one; none for the current one itself. */
function wayTo(catalogue: Pick<Catalogue, "server">, server: Server, current: Server): Server[] {
  const { name, via } = current;
  if (server.name === name) return [];
  if (via === undefined) return [reachedLike(server, current) ?? []].flat();
  const entry = catalogue.server(server.provider, via.name);
  const pair = entry && pairOf(server, entry);
  return pair === null ? [] : [keyedLike(pair, current)];
}
