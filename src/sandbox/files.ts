import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writePhone } from "./phone.ts";
import type { VpnServer } from "./server.ts";

/** Ready-made files for `curl --data @` and for the gateway's settings. */
export interface SandboxFiles {
  /** The managed provider's server list. */
  managedList: string;
  managedKey: string;
  /** Body of POST /api/custom/add, for the first VPN server. */
  custom: string;
  /** A wg-quick file, for the second VPN server. */
  importConf: string;
  /** Body of POST /api/import with that file in it. */
  importBody: string;
  /** The program that runs a command on the phone; empty if there is none. */
  phone: string;
}

/** Writes them readable by root only, because they contain private keys. */
export function writeFiles(
  directory: string,
  servers: readonly [VpnServer, VpnServer],
  key: string,
  phone: string | null,
): SandboxFiles {
  const write = (name: string, content: string) => {
    const path = join(directory, name);
    writeFileSync(path, content, { mode: 0o600 });
    chmodSync(path, 0o600);
    return path;
  };
  const list = servers.map((server) => ({
    hostname: server.hostname,
    country: server.country,
    city: server.city,
    ipv4: server.ipv4,
    ipv6: server.ipv6,
    port: server.port,
    multihop_port: server.multihopPort,
    public_key: server.publicKey,
    provider: "Box",
  }));
  return {
    managedList: write("managed.json", `${JSON.stringify({ servers: list }, null, 2)}\n`),
    managedKey: write("managed.key", `${key}\n`),
    custom: write("custom.json", `${JSON.stringify(servers[0].customBody, null, 2)}\n`),
    importConf: write("import.conf", servers[1].importText),
    importBody: write("import.json", `${JSON.stringify(servers[1].importBody, null, 2)}\n`),
    phone: phone === null ? "" : writePhone(directory, phone),
  };
}
