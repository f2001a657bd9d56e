import type { FavouriteList, Provider } from "../../../servers/schema.ts";
import { say } from "../../language.ts";
import type { Answers } from "../../store.ts";

/** Where a tunnel can lead: a country, a city or a server. */
export interface Target {
  name: string;
  detail: string;
}

/** Favourites and recent servers first. Of providers other than the current one only these are known. */
export function targetsIn(
  provider: Provider,
  servers: Answers["servers"] | null,
  favourites: FavouriteList | null,
): Target[] {
  const marked = [
    ...(favourites?.favourites ?? []).map((each) => ({ ...each, detail: say("favourite") })),
    ...(favourites?.recent ?? []).map((each) => ({ ...each, detail: say("used recently") })),
  ];
  const first = marked
    .filter((each) => each.provider === provider)
    .map(({ server, detail }) => ({ name: server, detail }));
  const all = servers?.provider === provider ? placesIn(servers.servers) : [];
  return [...new Map([...first, ...all].toReversed().map((each) => [each.name, each])).values()].toReversed();
}

function placesIn(tree: Answers["servers"]["servers"]): Target[] {
  const countries = Object.entries(tree);
  return [
    ...countries.map(([country]) => ({ name: country, detail: say("country") })),
    ...countries.flatMap(([country, cities]) =>
      Object.keys(cities).map((city) => ({ name: `${city}, ${country}`, detail: say("city") })),
    ),
    ...countries.flatMap(([country, cities]) =>
      Object.entries(cities).flatMap(([city, records]) =>
        records.map(({ hostname }) => ({ name: hostname, detail: `${city}, ${country}` })),
      ),
    ),
  ];
}
