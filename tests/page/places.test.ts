import { expect, test } from "bun:test";
import { entriesIn, found, placeOf, placesIn, reachedVia } from "../../src/dashboard/views/servers/places.ts";

const record = (hostname: string) => ({ hostname, ipv4: "", type: "WireGuard" as const, provider: "Box" });
const PLACES = placesIn({
  Unknown: { Unknown: [record("mine")] },
  Sweden: { Malmö: [record("se-mma-1")], Gothenburg: [record("se-got-1"), record("se-got-2")] },
  "Country 10": { "City 10": [], "City 9": [] },
  "Country 9": {},
  Åland: { Mariehamn: [record("ax-1")] },
});

function names(query: string): Record<string, string[]> {
  const { countries, cities, servers } = found(PLACES, query);
  const of = (those: readonly { name: string }[]) => those.map(({ name }) => name);
  return { countries: of(countries), cities: of(cities), servers: of(servers) };
}

test("countries and cities are in a reader's order, and what has no place is last", () => {
  expect(PLACES.countries.map(({ name }) => name)).toEqual([
    "Åland",
    "Country 9",
    "Country 10",
    "Sweden",
    "Unknown",
  ]);
  expect(PLACES.cities.map(({ name }) => name).slice(1, 3)).toEqual(["City 9", "City 10"]);
});

test("a search finds countries, cities and servers, without case and accents, by every word", () => {
  expect(names("SWED")).toEqual({
    countries: ["Sweden"],
    cities: ["Gothenburg", "Malmö"],
    servers: ["se-got-1", "se-got-2", "se-mma-1"],
  });
  expect(names(" malmo,sweden ")).toEqual({ countries: [], cities: ["Malmö"], servers: ["se-mma-1"] });
  expect(names("got 2")).toEqual({ countries: [], cities: [], servers: ["se-got-2"] });
  expect(names("xyz")).toEqual({ countries: [], cities: [], servers: [] });
});

test("nobody can connect to the place of servers that have none", () => {
  expect(names("unknown")).toEqual({ countries: [], cities: [], servers: ["mine"] });
  expect(PLACES.servers.map(placeOf)).toContain("");
});

test("a server that is reached by AmneziaWG says so, and is found by that", () => {
  const mine = { ...record("mine"), amnezia: true as const };
  const { servers } = found(placesIn({ Unknown: { Unknown: [mine, record("other")] } }), "amnezia");
  expect(servers).toMatchObject([{ name: "mine", amnezia: true }]);
});

test("two hops: every place can be the entry if there is an exit, and the exits are all others with a port for it", () => {
  const record = (hostname: string, multihop?: true) => ({
    ...{ hostname, ipv4: "192.0.2.1", type: "WireGuard" as const, provider: "Managed" },
    ...(multihop && { multihop }),
  });
  const many = Array.from({ length: 13 }, (_, index) => record(`se-${index}`, true));
  const tree = {
    Sweden: { Gothenburg: many, Unknown: [record("se-x")] },
    Norway: { Oslo: [record("no-1", true)] },
    Unknown: { Unknown: [record("mine")] },
  };
  expect(entriesIn(tree)).toEqual([
    { country: "Norway", names: ["Norway", "Oslo, Norway", "no-1"] },
    { country: "Sweden", names: ["Sweden", "Gothenburg, Sweden"] },
  ]);
  expect(reachedVia("no-1", tree)).toEqual({ Sweden: { Gothenburg: many } });
  expect(Object.keys(reachedVia("Sweden", tree))).toEqual(["Sweden", "Norway"]);
  expect(entriesIn({ Norway: { Oslo: [record("no-1")] } })).toEqual([]);
});
