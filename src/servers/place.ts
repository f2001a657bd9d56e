import { refused } from "./refusals.ts";
import type { Provider, Server } from "./schema.ts";
import { type Listed, UNKNOWN } from "./tree.ts";

/** A country, or a city of one. */
interface Spot {
  country: string;
  /** Null is the whole country. */
  city: string | null;
}

/** A provider's country or city, and a few of its servers from which the best is chosen. */
export interface Place extends Spot {
  /** The name that the client gave. */
  name: string;
  provider: Provider;
  /** At least one. */
  servers: readonly Server[];
}

/** The number of a place's servers whose round trip is measured. */
export const MAX_ASKED = 5;
/** With this many, enough are left even if each of the other seven tunnels uses one with the same key. */
export const MAX_OFFERED = MAX_ASKED + 7;

/**
 * The country or city of that name, spelled as in the tree or as `City, Country`. A country takes precedence over a
 * city; a city's name that exists in several countries is refused as ambiguous. Messages call it `field`.
 */
export function spotNamed(name: string, servers: readonly Listed[], field = "server"): Spot | null {
  if (name === UNKNOWN) return null;
  if (servers.some(({ country }) => country === name)) return { country: name, city: null };
  const inCity = servers.find((server) => isCity(name, server));
  if (inCity === undefined) return null;
  const { city, country } = inCity;
  const elsewhere = servers.find((server) => isCity(name, server) && server.country !== country);
  if (elsewhere === undefined) return { country, city };
  throw refused("city_ambiguous", { field, city, country, other: elsewhere.country });
}

export function isIn({ country, city }: Spot, server: Pick<Server, "country" | "city">): boolean {
  return server.country === country && (city === null || server.city === city);
}

/** Takes servers from each city in turn, at random, so that homes measure different servers. */
export function spread<T extends Pick<Listed, "city">>(servers: readonly T[], count: number): T[] {
  const cities = [...Map.groupBy(shuffled(servers), ({ city }) => city).values()];
  const chosen: T[] = [];
  for (let turn = 0; chosen.length < Math.min(count, servers.length); turn++) {
    chosen.push(...cities.map((those) => those[turn]).filter((server) => server !== undefined));
  }
  return chosen.slice(0, count);
}

function isCity(name: string, { city, country }: Listed): boolean {
  return city !== UNKNOWN && (city === name || `${city}, ${country}` === name);
}

/** Every order is equally likely (Fisher and Yates). */
function shuffled<T>(values: readonly T[]): T[] {
  const some = [...values];
  for (let last = some.length - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * (last + 1));
    [some[last], some[other]] = [some[other] as T, some[last] as T];
  }
  return some;
}
