import type { Static } from "typebox";
import { messageOf } from "../base/errors.ts";
import type { Change } from "../base/saved.ts";
import { MAX_STORED_BYTES, sizeOfAll } from "../servers/room.ts";
import { PROVIDERS, type Server } from "../servers/schema.ts";
import { MAX_SERVERS } from "../shared/config-files.ts";
import { PROVIDER_WORDS } from "../shared/words.ts";
import type { StoredServer } from "../store/server-rows.ts";
import { parseConfig } from "../wireguard/config.ts";
import { formatConfig, formatEndpoint } from "../wireguard/config-text.ts";
import type { Config } from "../wireguard/schema.ts";
import { damaged } from "./damaged.ts";
import type { Holdings } from "./holdings.ts";
import { refused } from "./refusals.ts";

/** What identifies a server, for people too. */
export function titleOf({ provider, name }: Pick<Server, "provider" | "name">): string {
  return `${name} (${PROVIDER_WORDS[provider].word})`;
}

/** The server of a backup. Its fields follow the rules of an imported file. */
export function checkedServer(server: Static<typeof StoredServer>): Server {
  const { name, provider, config } = server;
  try {
    const { config: parsed } = parseConfig(formatConfig(config));
    if (provider !== "managed" && Bun.deepEquals(parsed, config)) return { ...server, config: parsed };
  } catch (error) {
    damaged(`the server ${JSON.stringify(name.slice(0, 100))}: ${messageOf(error)}`);
  }
  return damaged(
    `the server ${JSON.stringify(name.slice(0, 100))} is not in the form that the gateway writes`,
  );
}

/** A server that has another key or setting only is told by that. */
export function serverChanges(here: Holdings, then: Holdings): Change[] {
  const known = new Map(here.servers.map((server) => [titleOf(server), server]));
  return then.servers.flatMap((server) => {
    const name = titleOf(server);
    const present = known.get(name);
    if (present === server || Bun.deepEquals(present, server)) return [];
    const after = endpointOf(server.config);
    const before = present === undefined ? null : endpointOf(present.config);
    const differs = before === after ? `${after}, another configuration` : after;
    return [{ what: "server", name, before, after: differs, replaces: before !== null }];
  });
}

/** Throws if these are more than there may be. */
export function refuseServers(servers: readonly Server[]): void {
  if (sizeOfAll(servers) > MAX_STORED_BYTES) throw refused("restore_too_large", { max: MAX_STORED_BYTES });
  for (const provider of PROVIDERS) {
    if (servers.filter((server) => server.provider === provider).length > MAX_SERVERS)
      throw refused("restore_too_much", { of: provider, max: MAX_SERVERS });
  }
}

function endpointOf({ peer }: Config): string {
  return formatEndpoint(peer.endpoint.host, peer.endpoint.port);
}
