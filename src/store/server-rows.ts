import type { Database } from "bun:sqlite";
import { checkerOf } from "../base/checker.ts";
import { Name, Shown } from "../base/name.ts";
import { objectOf } from "../base/object.ts";
import { Provider, type Server } from "../servers/schema.ts";
import { Config, configIn } from "../wireguard/schema.ts";

/** A row of the servers, with its configuration decoded. */
export const StoredServer = objectOf({
  name: Name,
  provider: Provider,
  ...{ label: Shown, country: Shown, city: Shown, location: Shown },
  config: Config,
});

const row = checkerOf(StoredServer);

export interface ServerKey {
  provider: string;
  name: string;
}

export function serversIn(database: Database): Server[] {
  const rows = database.query("SELECT * FROM servers ORDER BY provider, name").all();
  return rows.flatMap((each) => decoded(each) ?? []);
}

/** The keys of the rows that cannot be read. */
export function damagedServers(database: Database): ServerKey[] {
  const rows = database.query("SELECT * FROM servers").all();
  return rows.filter((each) => decoded(each) === null) as ServerKey[];
}

/** Throws if there is a server of that name: one is never replaced by accident. */
export function insertServer(database: Database, server: Server): void {
  const { name, provider, label, country, city, location } = server;
  const config = JSON.stringify(server.config);
  database
    .query("INSERT INTO servers VALUES ($provider, $name, $label, $country, $city, $location, $config)")
    .run({ provider, name, label, country, city, location, config });
}

export function placeServer(database: Database, { provider, name, country, city, location }: Server): void {
  database
    .query(
      "UPDATE servers SET country = $country, city = $city, location = $location WHERE provider = $provider AND name = $name",
    )
    .run({ provider, name, country, city, location });
}

export function deleteServer(database: Database, { provider, name }: ServerKey): void {
  database.query("DELETE FROM servers WHERE provider = $provider AND name = $name").run({ provider, name });
}

/** The server in a row, or null if it is malformed. */
function decoded(stored: unknown): Server | null {
  const { config, ...rest } = stored as { config: string };
  try {
    const server: unknown = { ...rest, config: JSON.parse(config) };
    if (!row.Check(server)) return null;
    const parsed = configIn(server.config);
    return parsed && { ...server, config: parsed };
  } catch {
    return null;
  }
}
