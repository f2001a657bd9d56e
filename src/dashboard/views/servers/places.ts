import type { ServerTree } from "../../../servers/schema.ts";
import { countryText } from "../../country.ts";

/** A server of the current provider. */
export interface Listed {
  name: string;
  city: string;
  country: string;
  /** It is reached by AmneziaWG. */
  amnezia?: true;
  /** What a search looks at. */
  text: string;
}

export interface City {
  name: string;
  country: string;
  servers: readonly Listed[];
  text: string;
}

export interface Country {
  name: string;
  cities: readonly City[];
  servers: readonly Listed[];
  text: string;
}

/** The current provider's servers, ready to be searched at each key. */
export interface Places {
  countries: readonly Country[];
  cities: readonly City[];
  servers: readonly Listed[];
}

/** The gateway's word for the place of servers that have none; nobody can connect to it. */
const UNKNOWN = "Unknown";

export function isPlace(name: string): boolean {
  return name !== UNKNOWN;
}

/** "Gothenburg, Sweden", as far as it is known. */
export function placeOf({ city, country }: Pick<Listed, "city" | "country">): string {
  return [city, country].filter(isPlace).join(", ");
}

export function placesIn(tree: ServerTree): Places {
  const countries = Object.entries(tree)
    .map(([name, cities]) => countryOf(name, cities))
    .sort(byName);
  const cities = countries.flatMap((country) => country.cities);
  return { countries, cities, servers: countries.flatMap(({ servers }) => servers) };
}

/** More entries of a country than these are not offered one by one. */
const MAX_ENTRIES = 12;

/** What other servers can be reached through, by country; nothing if no server can be reached so. */
export function entriesIn(tree: ServerTree): { country: string; names: readonly string[] }[] {
  const hasExit = Object.values(tree).some((cities) => Object.values(cities).flat().some(isExit));
  if (!hasExit) return [];
  return placesIn(tree)
    .countries.filter(({ name }) => isPlace(name))
    .map(({ name: country, cities, servers }) => {
      const places = cities.filter(({ name }) => isPlace(name)).map(({ name }) => `${name}, ${country}`);
      const each = servers.length > MAX_ENTRIES ? [] : servers.map(({ name }) => name);
      return { country, names: [country, ...places, ...each] };
    });
}

/** The servers that can be reached through others, without the entry itself. */
export function reachedVia(entry: string, tree: ServerTree): ServerTree {
  const countries = Object.entries(tree).map(([country, cities]) => {
    const left = Object.entries(cities).flatMap(([city, records]) => {
      const exits = records.filter((each) => isExit(each) && each.hostname !== entry);
      return exits.length === 0 ? [] : [[city, exits] as const];
    });
    return [country, Object.fromEntries(left)] as const;
  });
  return Object.fromEntries(countries.filter(([, cities]) => Object.keys(cities).length > 0));
}

function isExit({ multihop }: { multihop?: true }): boolean {
  return multihop === true;
}

function countryOf(name: string, tree: ServerTree[string]): Country {
  const cities = Object.entries(tree).map(([city, records]) => {
    const text = plain(`${city} ${name} ${countryText(name)}`);
    const servers = records.map(({ hostname, amnezia }) => ({
      name: hostname,
      city,
      country: name,
      ...(amnezia && { amnezia }),
      text: `${plain(hostname)} ${text}${amnezia ? " amneziawg" : ""}`,
    }));
    return { name: city, country: name, servers, text };
  });
  cities.sort(byName);
  return {
    name,
    cities,
    servers: cities.flatMap(({ servers }) => servers),
    text: plain(`${name} ${countryText(name)}`),
  };
}

/** In the order that a reader expects. What has no place comes last. */
function byName(one: { name: string }, two: { name: string }): number {
  return Number(isPlace(two.name)) - Number(isPlace(one.name)) || ORDER.compare(one.name, two.name);
}

const ORDER = new Intl.Collator("en", { numeric: true });

/** The entries of each list that contain every word of the query. */
export function found(places: Places, query: string): Places {
  const words = plain(query)
    .split(/[\s,]+/)
    .filter((word) => word !== "");
  const has = ({ text }: { text: string }) => words.every((word) => text.includes(word));
  return {
    countries: places.countries.filter((each) => isPlace(each.name) && has(each)),
    cities: places.cities.filter((each) => isPlace(each.name) && has(each)),
    servers: places.servers.filter(has),
  };
}

/** Without case and accents, so that "malmo" finds Malmö. */
function plain(text: string): string {
  return text
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "")
    .toLowerCase();
}
