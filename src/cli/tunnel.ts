import { Success } from "../http/answers.ts";
import { Disconnected, KeyPair, Providers, Switched } from "../http/schema.ts";
import { MAIN } from "../killswitch/policy.ts";
import type { Provider } from "../servers/schema.ts";
import { PROVIDER_WORDS } from "../shared/words.ts";
import type { Api } from "./api.ts";
import type { Output } from "./api-command.ts";
import { askedOf, type How } from "./asked.ts";
import type { Use } from "./provider.ts";
import { placed, readStatus } from "./status.ts";
import { printable, styled, table } from "./text.ts";

export async function connect(api: Api, server: string | undefined, how: How = {}): Promise<Output> {
  const { title, body, withinMs } = await askedOf(api, MAIN, server, how);
  // The handshake may take seconds, so say what is happening.
  if (process.stderr.isTTY) process.stderr.write(`Connecting to ${printable(title)} …\n`);
  const json = await api.post("/api/connect", Success, body, withinMs);
  const status = await readStatus(api);
  // The server that was chosen for a country or a city. The tunnel may have moved on since.
  const reached = status.server === "" ? title : placed(status);
  return { json, text: `Connected to ${printable(reached)}.\n` };
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
