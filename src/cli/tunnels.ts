import { Success } from "../http/answers.ts";
import { TunnelRows } from "../http/schema.ts";
import { viaText } from "../servers/hops.ts";
import { tunnelTitle } from "../shared/words.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import type { Api } from "./api.ts";
import type { Output } from "./api-command.ts";
import { askedOf, HOW, type How } from "./asked.ts";
import { placed, stateOf } from "./status.ts";
import { list, printable, styled } from "./text.ts";
import { usage } from "./usage.ts";

export async function listTunnels(api: Api, namesOnly: boolean): Promise<Output> {
  const json = await api.get("/api/tunnels", TunnelRows);
  const text = namesOnly ? json.tunnels.map(({ name }) => `${name}\n`).join("") : textOf(json.tunnels);
  return { json, text };
}

export async function changeTunnel(
  api: Api,
  [name = "", action = "", server]: readonly string[],
  more: How & { provider?: string },
): Promise<Output> {
  const path = `/api/tunnels/${encodeURIComponent(name)}`;
  switch (action) {
    case "connect":
      return connectTunnel(api, path, { name, server, ...more });
    case "disconnect": {
      assertNoServer(action, server, more);
      const json = await api.post(`${path}/disconnect`, Success);
      return { json, text: `The ${printable(tunnelTitle(name))} is disconnected.\n` };
    }
    default: {
      assertNoServer(action, server, more);
      const json = await api.delete(path, Success);
      return { json, text: `Removed the ${printable(tunnelTitle(name))}.\n` };
    }
  }
}

async function connectTunnel(
  api: Api,
  path: string,
  { name, server, ...how }: Parameters<typeof changeTunnel>[2] & { name: string; server: string | undefined },
): Promise<Output> {
  const { title, body, withinMs } = await askedOf(api, name, server, how);
  // The handshake may take seconds, so say what is happening.
  const asked = printable(title);
  if (process.stderr.isTTY)
    process.stderr.write(`Connecting the ${printable(tunnelTitle(name))} to ${asked} …\n`);
  const json = await api.put(path, Success, body, withinMs);
  const { tunnels } = await api.get("/api/tunnels", TunnelRows);
  // The server that was chosen for a country or a city. The tunnel may have moved on since.
  const row = tunnels.find((each) => each.name === name);
  const reached = row === undefined || row.server === "" ? asked : printable(placed(row));
  return { json, text: `The ${printable(tunnelTitle(name))} is connected to ${reached}.\n` };
}

function textOf(rows: readonly TunnelRow[]): string {
  const cells = rows.map((row) => [
    row.name,
    stateOf(row),
    printable(row.server === "" ? viaText(row.wanted ?? "", row.wanted_via) : placed(row)),
    String(row.devices),
  ]);
  const errors = rows.flatMap(({ name, error }) => (error === null ? [] : [`${name}: ${printable(error)}`]));
  return [
    list(["Tunnel", "State", "Server", "Devices"], cells),
    ...errors.map((each) => `${styled("red", each)}\n`),
  ].join("");
}

function assertNoServer(action: string, server: string | undefined, how: How): void {
  if (server !== undefined) throw usage(`too many arguments: ${action} takes no server`);
  const flag = HOW.find((name) => how[name] !== undefined);
  if (flag !== undefined) throw usage(`--${flag} is for connect only`);
}
