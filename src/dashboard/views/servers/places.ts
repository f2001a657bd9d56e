import type { ServerTree } from "../../../servers/schema.ts";

/** A server of the current provider. */
export interface Listed {
  name: string;
  city: string;
  country: string;
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

function countryOf(name: string, tree: ServerTree[string]): Country {
  const cities = Object.entries(tree).map(([city, records]) => {
    const text = plain(`${city} ${name}`);
    const servers = records.map(({ hostname }) => ({
      name: hostname,
      city,
      country: name,
      text: `${plain(hostname)} ${text}`,
    }));
    return { name: city, country: name, servers, text };
  });
  cities.sort(byName);
  return { name, cities, servers: cities.flatMap(({ servers }) => servers), text: plain(name) };
}

/** As a reader expects it, and what has no place last. */
function byName(one: { name: string }, two: { name: string }): number {
  return Number(isPlace(two.name)) - Number(isPlace(one.name)) || ORDER.compare(one.name, two.name);
}

const ORDER = new Intl.Collator("en", { numeric: true });

/** Those that have every word of the query somewhere, as far as each list goes. */
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
