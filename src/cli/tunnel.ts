import { GatewayError } from "../errors.ts";
import { Success } from "../http/answers.ts";
import { Disconnected, KeyPair, Providers, Switched } from "../http/schema.ts";
import { viaText } from "../servers/hops.ts";
import type { Managed } from "../servers/schema.ts";
import type { Api } from "./api.ts";
import type { Said } from "./asking.ts";
import { placed, readStatus } from "./status.ts";
import { printable, styled, table } from "./text.ts";

export async function connect(api: Api, server: string, via?: string): Promise<Said> {
  // The handshake may take seconds, so say what is happening.
  if (process.stderr.isTTY) process.stderr.write(`Connecting to ${printable(viaText(server, via))} …\n`);
  const json = await api.post("/api/connect", Success, { server, ...(via !== undefined && { via }) });
  const status = await readStatus(api);
  // The server that was chosen for a country or a city; the tunnel may have moved on since.
  const reached = status.server === "" ? viaText(server, via) : placed(status);
  return { json, text: `Connected to ${printable(reached)}.\n` };
}

export async function disconnect(api: Api): Promise<Said> {
  const json = await api.post("/api/disconnect", Disconnected);
  return { json, text: `${printable(json.message)}\n` };
}

export async function listProviders(api: Api): Promise<Said> {
  const json = await api.get("/api/providers", Providers);
  const lineOf = (provider: string) =>
    provider === json.current ? `* ${styled("green", provider)}` : `  ${provider}`;
  return { json, text: json.providers.map((provider) => `${lineOf(provider)}\n`).join("") };
}

export async function useProvider(api: Api, provider: string, managed?: Managed): Promise<Said> {
  if (managed !== undefined) await useManaged(api, provider, managed);
  const json = await api.post(`/api/provider/${encodeURIComponent(provider)}`, Switched);
  const whose = managed === undefined ? "" : ` (${managed})`;
  return { json, text: `The current provider is ${json.provider}${whose}.\n` };
}

async function useManaged(api: Api, provider: string, name: Managed): Promise<void> {
  if (provider !== "managed")
    throw new GatewayError("bad_request", "--managed: is only for: portcullis use managed");
  await api.put("/api/managed", Success, { name });
}

export async function makeKeyPair(api: Api): Promise<Said> {
  const json = await api.get("/api/keypair", KeyPair);
  const rows = [
    ["Private key", json.private_key],
    ["Public key", json.public_key],
  ];
  return { json, text: table(rows) };
}
