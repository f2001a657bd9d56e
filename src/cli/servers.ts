import { CommandError } from "../base/errors.ts";
import { Servers } from "../http/schema.ts";
import type { Provider, ServerRecord, ServerTree } from "../servers/schema.ts";
import { UNKNOWN } from "../servers/tree.ts";
import { capital, PROVIDER_WORDS } from "../shared/words.ts";
import type { Api } from "./api.ts";
import { printable, styled, table } from "./text.ts";

interface Found {
  servers: ServerTree;
  provider: Provider;
}

/** The current provider's servers: all, or those of one country or city. */
export async function readServers(api: Api, country?: string, city?: string): Promise<Found> {
  const { servers, provider } = await api.get("/api/servers", Servers);
  if (country === undefined) return { servers, provider };
  const [land, cities] = entryOf(servers, country) ?? notFound(provider, country);
  if (city === undefined) return { servers: { [land]: cities }, provider };
  const [town, records] = entryOf(cities, city) ?? notFound(provider, `${city}, ${country}`);
  return { servers: { [land]: { [town]: records } }, provider };
}

/** Countries, cities and servers, each level indented. */
export function treeTextOf({ servers, provider }: Found): string {
  const countries = Object.entries(servers);
  if (countries.length === 0)
    return `${capital(PROVIDER_WORDS[provider].servers)}: none yet; ${WAYS[provider]}\n`;
  return countries
    .map(([country, cities]) => `${styled("bold", printable(country))}\n${citiesText(cities)}`)
    .join("");
}

/** Used by completion: one name per line. */
export function namesTextOf({ servers }: Found): string {
  return Object.values(servers)
    .flatMap((cities) => Object.values(cities).flat())
    .map(({ hostname }) => `${printable(hostname)}\n`)
    .join("");
}

/** The way to fill an empty provider. */
const WAYS: Record<Provider, string> = {
  managed: "fetch their list, on the gateway: sudo portcullis servers update",
  custom: "add one: portcullis add --help",
  imported: "import files: portcullis import *.conf",
};
/** Used by completion: countries, then cities, each with its country if another country has a city of that name. */
export function placesTextOf({ servers }: Found): string {
  const countries = Object.keys(servers).filter((country) => country !== UNKNOWN);
  const all = Object.values(servers).flatMap((cities) => Object.keys(cities));
  const cities = Object.entries(servers).flatMap(([country, those]) =>
    Object.keys(those)
      .filter((city) => city !== UNKNOWN)
      .map((city) => (all.indexOf(city) === all.lastIndexOf(city) ? city : `${city}, ${country}`)),
  );
  return [...new Set([...countries, ...cities])].map((place) => `${printable(place)}\n`).join("");
}

function citiesText(cities: Record<string, ServerRecord[]>): string {
  return Object.entries(cities)
    .map(([city, records]) => `  ${printable(city)}\n${recordsText(records)}`)
    .join("");
}

function recordsText(records: readonly ServerRecord[]): string {
  const rows = records.map(({ hostname, ipv4, provider }) => [
    printable(hostname),
    ipv4 || "-",
    printable(provider),
  ]);
  return table(
    rows.map(([name = "", ...rest]) => [styled("cyan", name), ...rest.map((cell) => styled("dim", cell))]),
    "    ",
  );
}

/** People type names of places in any letter case. */
function entryOf<T>(places: Record<string, T>, wanted: string): [string, T] | undefined {
  const folded = (text: string) => text.normalize("NFC").toLowerCase();
  return Object.entries(places).find(([name]) => folded(name) === folded(wanted));
}

function notFound(provider: Provider, place: string): never {
  throw new CommandError(
    "not_found",
    `none of ${PROVIDER_WORDS[provider].servers} is in ${place}; to list all places: portcullis servers`,
  );
}
