import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CustomServer, Server } from "../../src/servers/schema.ts";
import type { Config } from "../../src/wireguard/schema.ts";
import { cidr, cidrs } from "../fake/address.ts";

export const PRIVATE = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
export const PUBLIC = "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=";
export const PRESHARED = "FpCyhws9cxwWoV4xELtfJvjJN+zQVRPISllRWgeopVE=";

export const BODY: CustomServer = {
  name: "home",
  endpoint: "192.0.2.1:51820",
  public_key: PUBLIC,
  private_key: PRIVATE,
  address: "10.64.0.2/32",
};

export const CONFIG: Config = {
  interface: { privateKey: PRIVATE, addresses: [cidr("10.64.0.2/32")], dns: [], searchDomains: [] },
  peer: {
    publicKey: PUBLIC,
    endpoint: { host: "192.0.2.1", port: 51820 },
    allowedIps: cidrs("0.0.0.0/0", "::/0"),
  },
};

export const SERVER: Server = {
  name: "home",
  provider: "custom",
  label: "Custom",
  country: "Unknown",
  city: "Unknown",
  location: "",
  config: CONFIG,
};

export const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 6);

/** Runs `work` in a directory that is removed afterwards. */
export function inDirectory<T>(work: (directory: string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), "portcullis-"));
  try {
    return work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
