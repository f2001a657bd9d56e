import type { Favourite, Provider, ServerTree } from "../servers/schema.ts";

/** People can still read a list of this length, and the message has some kilobytes. */
const MAX_OPTIONS = 200;
/** If a provider has no more servers than this, all of them are offered. */
const FEW_SERVERS = 50;

interface Choices {
  servers: ServerTree;
  provider: Provider;
  favourites: readonly Favourite[];
  /** The present destination of the tunnel. */
  wanted: string | null;
}

/**
 * The destinations of `main`, as `POST /api/connect` takes them: favourites of the current provider, its countries, and
 * as many servers, or else cities, as there is room for.
 */
export function destinationsOf({ servers, provider, favourites, wanted }: Choices): string[] {
  const places = Object.entries(servers).filter(([country]) => country !== UNKNOWN);
  const names = few(servers);
  const cities = places.flatMap(([country, inCountry]) =>
    Object.keys(inCountry).flatMap((city) => (city === UNKNOWN ? [] : [`${city}, ${country}`])),
  );
  const all = [
    ...(wanted === null ? [] : [wanted]),
    ...favourites.flatMap((each) => (each.provider === provider ? [each.server] : [])),
    ...places.map(([country]) => country),
    ...(names ?? cities),
  ];
  return [...new Set(all)].slice(0, MAX_OPTIONS).sort();
}

/** The same as in `servers/tree.ts`. */
const UNKNOWN = "Unknown";

/** The names of all servers; null if there are many. */
function few(servers: ServerTree): string[] | null {
  const names: string[] = [];
  for (const cities of Object.values(servers))
    for (const records of Object.values(cities)) {
      if (names.length + records.length > FEW_SERVERS) return null;
      names.push(...records.map(({ hostname }) => hostname));
    }
  return names;
}
