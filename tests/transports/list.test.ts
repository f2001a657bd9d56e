import { expect, test } from "bun:test";
import { join } from "node:path";
import { SHADOWSOCKS_BYTES } from "../../src/transports/disguises/shadowsocks.ts";
import { RELAYS, TRANSPORT_NAMES, TRANSPORTS } from "../../src/transports/list.ts";

const DOCS = join(import.meta.dir, "../../docs");
const CONFIG = {
  interface: { privateKey: "", addresses: [], dns: [], searchDomains: [] },
  peer: { publicKey: "", endpoint: { host: "192.0.2.1", port: 51_820 }, allowedIps: [] },
};

test.each(["command-line.md", "interface/tunnels.md"])("%s names each transport", async (name) => {
  const text = await Bun.file(join(DOCS, name)).text();
  expect(TRANSPORT_NAMES.filter((each) => !new RegExp(`\\b${each}\\b`).test(text))).toEqual([]);
});

test("a server is tried first by plain WireGuard, and a relay leads to it in all other ways", () => {
  expect(TRANSPORT_NAMES[0]).toBe("plain");
  expect(TRANSPORT_NAMES.filter((name) => TRANSPORTS[name].relay === null)).toEqual(["plain"]);
});

test("a relay is in a stream exactly if its transport is by TCP", () => {
  const kinds = Object.entries(RELAYS).map(([name, { carriage }]) => [name, carriage.kind]);
  const protocols = Object.entries(TRANSPORTS).flatMap(([name, { protocol, relay }]) =>
    relay === null ? [] : [[name, protocol === "tcp" ? "stream" : "datagrams"]],
  );
  expect(kinds).toEqual(protocols);
});

test("as many bytes are left for Shadowsocks as it adds", () => {
  expect(TRANSPORTS.shadowsocks.addedBytes(CONFIG)).toBe(SHADOWSOCKS_BYTES);
});
