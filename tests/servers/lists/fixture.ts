import { join } from "node:path";
import type { ListedServer } from "../../../src/servers/lists/entry.ts";

/** The text of a list as a provider hands it out, with documentation addresses and made-up keys. */
export function fixture(name: string): Promise<string> {
  return Bun.file(join(import.meta.dir, "fixtures", `${name}.json`)).text();
}

/** A server on one line; of its key the beginning. */
export function lineOf({ name, label, country, city, ipv4, port, publicKey }: ListedServer): string {
  return `${name} | ${label} | ${country} | ${city} | ${ipv4}:${port} | ${publicKey?.slice(0, 6)}`;
}
