import { Success } from "../http/answers.ts";
import { Disconnected, KeyPair, Providers, Switched } from "../http/schema.ts";
import { viaText } from "../servers/hops.ts";
import type { Provider } from "../servers/schema.ts";
import { PROVIDER_WORDS } from "../shared/words.ts";
import { type Api, LONG_ANSWER_TIMEOUT_MS } from "./api.ts";
import type { Output } from "./api-command.ts";
import type { Use } from "./provider.ts";
import { placed, readStatus } from "./status.ts";
import { printable, styled, table } from "./text.ts";

export async function connect(api: Api, server: string, how: How = {}): Promise<Output> {
  const { via } = how;
  // The handshake may take seconds, so say what is happening.
  if (process.stderr.isTTY) process.stderr.write(`Connecting to ${printable(viaText(server, via))} …\n`);
  const json = await api.post("/api/connect", Success, targetsIn(server, how), withinOf(how));
  const status = await readStatus(api);
  // The server that was chosen for a country or a city. The tunnel may have moved on since.
  const reached = status.server === "" ? viaText(server, via) : placed(status);
  return { json, text: `Connected to ${printable(reached)}.\n` };
}

/** How a server is to be reached, and what comes next if it does not work. */
export interface How {
  then?: readonly string[];
  back?: number;
  quiet?: true;
  leave?: readonly string[];
  via?: string;
  transport?: string;
  quantum?: string;
}

/** The body of a request that connects a tunnel. */
export function targetsIn(server: string, { then, back, quiet, leave, quantum, ...each }: How): object {
  const keys = quantum === undefined ? {} : { quantum };
  const way = {
    ...(back !== undefined && { back_after_minutes: back }),
    ...(quiet !== undefined && { back_when_quiet: true }),
    ...(leave !== undefined && { move_when: leave }),
  };
  if (then === undefined) return { server, ...each, ...keys, ...way };
  const targets = [server, ...then].map((name) => ({ server: name, ...each }));
  return { targets, ...keys, ...way };
}

/** How long a connect may take; as usual if it is undefined. Each of several targets takes its time. */
export function withinOf({ then }: How): number | undefined {
  return then === undefined ? undefined : LONG_ANSWER_TIMEOUT_MS;
}

export async function disconnect(api: Api): Promise<Output> {
  const json = await api.post("/api/disconnect", Disconnected);
  return { json, text: `${printable(json.message)}\n` };
}

export async function listProviders(api: Api): Promise<Output> {
  const json = await api.get("/api/providers", Providers);
  const rowOf = (provider: Provider) => {
    const { word, servers, origin } = PROVIDER_WORDS[provider];
    const isInUse = provider === json.current;
    return [isInUse ? `* ${styled("green", word)}` : `  ${word}`, `${servers}, ${origin}`];
  };
  return { json, text: table(json.providers.map(rowOf)) };
}

export async function useProvider(api: Api, { provider, managed }: Use): Promise<Output> {
  if (managed !== undefined) await api.put("/api/managed", Success, { name: managed });
  const json = await api.post(`/api/provider/${encodeURIComponent(provider)}`, Switched);
  const whose = managed === undefined ? "" : ` (${managed})`;
  return { json, text: `From now on, connect uses ${PROVIDER_WORDS[provider].servers}${whose}.\n` };
}

export async function makeKeyPair(api: Api): Promise<Output> {
  const json = await api.get("/api/keypair", KeyPair);
  const rows = [
    ["Private key", json.private_key],
    ["Public key", json.public_key],
  ];
  return { json, text: table(rows) };
}
