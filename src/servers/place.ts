import { GatewayError } from "../errors.ts";
import type { Provider, Server } from "./schema.ts";
import { type Listed, UNKNOWN } from "./tree.ts";

/** A country, or a city of one. */
interface Spot {
  country: string;
  /** Null is the whole country. */
  city: string | null;
}

/** A provider's country or city, and a few of its servers, among which the best is to be found. */
export interface Place extends Spot {
  /** As the client calls it. */
  name: string;
  provider: Provider;
  /** At least one. */
  servers: readonly Server[];
}

/** So many servers of a place are asked for their round trip. */
export const MOST_ASKED = 5;

/**
 * The country or city that is called so, spelled as in the tree, or `City, Country`. A country wins over a city; a
 * name that cities of several countries have is refused, for which one is meant nobody can tell.
 */
export function spotNamed(name: string, servers: readonly Listed[]): Spot | null {
  if (name === UNKNOWN) return null;
  if (servers.some(({ country }) => country === name)) return { country: name, city: null };
  const inCity = servers.find((server) => isCity(name, server));
  if (inCity === undefined) return null;
  const { city, country } = inCity;
  const elsewhere = servers.find((server) => isCity(name, server) && server.country !== country);
  if (elsewhere === undefined) return { country, city };
  throw new GatewayError(
    "bad_request",
    `server: there is a ${city} in ${country} and in ${elsewhere.country}: give the country too, as in "${city}, ${country}"`,
  );
}

export function isIn({ country, city }: Spot, server: Pick<Server, "country" | "city">): boolean {
  return server.country === country && (city === null || server.city === city);
}

/** So many of them: cities take turns, and chance decides within each, so that not every home asks the same servers. */
export function spread<T extends Pick<Listed, "city">>(servers: readonly T[], count: number): T[] {
  const cities = Map.groupBy(shuffled(servers), ({ city }) => city);
  const turns = [...cities.values()].flatMap((those) => those.map((server, turn) => ({ server, turn })));
  return turns
    .toSorted((a, b) => a.turn - b.turn)
    .slice(0, count)
    .map(({ server }) => server);
}

function isCity(name: string, { city, country }: Listed): boolean {
  return city !== UNKNOWN && (city === name || `${city}, ${country}` === name);
}

function shuffled<T>(values: readonly T[]): T[] {
  return values
    .map((value) => ({ value, rank: Math.random() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ value }) => value);
}
