import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readGluetun, readGluetunContents, readGluetunProvider } from "../../../src/servers/lists/gluetun.ts";
import { readList } from "../../../src/servers/lists/list.ts";
import { PUBLIC } from "../example.ts";
import { fixture, lineOf } from "./fixture.ts";

const SERVER = {
  vpn: "wireguard",
  country: "Sweden",
  city: "Malmö",
  hostname: "se1-wireguard",
  wgpubkey: PUBLIC,
  ips: ["192.0.2.1"],
};

test("a file of one provider: OpenVPN is left out, WireGuard without a key is counted, host names identify the provider", async () => {
  const { format, servers, skipped } = readList(await fixture("gluetun-ivpn"));
  expect([format, skipped]).toEqual(["a gluetun file of one provider", 1]);
  expect(servers.map(lineOf)).toEqual([
    "ca1.wg.ivpn.net | IVPN | Canada | Montreal | 192.0.2.102:58237 | w74Qzz",
    "de1.wg.ivpn.net | IVPN | Germany | Frankfurt | 192.0.2.103:58237 | BhOlHr",
  ]);
});

test("a whole servers.json: each provider has its label and port, and no two servers have the same name", async () => {
  const { format, servers, skipped } = readList(await fixture("gluetun"));
  expect([format, skipped]).toEqual(["gluetun's servers.json", 2]);
  expect(servers.map(lineOf)).toEqual([
    "at.vpn.airdns.org | AirVPN | Austria | Vienna | 192.0.2.111:1637 | RB9cnz",
    "at.vpn.airdns.org (Beemim) | AirVPN | Austria | Vienna | 192.0.2.112:1637 | RB9cnz",
    "ca1.wg.ivpn.net | IVPN | Canada | Montreal | 192.0.2.102:58237 | w74Qzz",
    "de1.wg.ivpn.net | IVPN | Germany | Frankfurt | 192.0.2.103:58237 | BhOlHr",
    "se1-wireguard | Mullvad | Sweden | Malmö | 192.0.2.131:51820 | 2mVdsI",
    "node-ch-01.protonvpn.net | Proton VPN | Switzerland | Unknown | 192.0.2.141:51820 | tyzYvI",
    "au-adl.prod.surfshark.com | Surfshark | Australia | Adelaide | 192.0.2.151:51820 | +Fw6sJ",
    "ca1.wg.ivpn.net (192.0.2.161) | vpnfuture | Iceland | Reykjavik | 192.0.2.161:51820 | vNqSY1",
    "au-008.whiskergalaxy.com | Windscribe | Australia | Adelaide | 192.0.2.172:1194 | pi9ohm",
  ]);
});

describe("one entry", () => {
  const readingOf = (...servers: unknown[]) => readGluetunProvider({ version: 1, timestamp: 1, servers });

  test.each([
    ["not an object", null],
    ["a number for its kind", { ...SERVER, vpn: 1 }],
    ["no name", { ...SERVER, hostname: undefined }],
    ["no address", { ...SERVER, hostname: "x", ips: [] }],
    ["no IPv4 address", { ...SERVER, hostname: "x", ips: ["2001:db8::1"] }],
    ["something else among its addresses", { ...SERVER, hostname: "x", ips: ["192.0.2.1", 1] }],
    ["a country that is not text", { ...SERVER, hostname: "x", country: {} }],
    ["the name and address of another, and another key", { ...SERVER, wgpubkey: `${"B".repeat(42)}A=` }],
  ])("with %s is skipped and counted", (what, entry) => {
    const named = what.startsWith("the name and address") ? ["se1-wireguard (192.0.2.1)"] : [];
    const reading = readingOf(SERVER, entry);
    expect(reading?.servers.map(({ name }) => name)).toEqual(["se1-wireguard", ...named]);
    expect(reading?.skipped).toBe(1 - named.length);
  });

  test("of another kind, or of none, is left out and not counted", () => {
    const reading = readingOf(SERVER, { ...SERVER, vpn: "openvpn" }, { ...SERVER, vpn: undefined });
    expect(reading).toMatchObject({ servers: [{ name: "se1-wireguard" }], skipped: 0 });
  });

  test("that is repeated is listed once", () => {
    expect(readingOf(SERVER, { ...SERVER, server_name: "again" })).toMatchObject({ skipped: 0 });
    expect(readingOf(SERVER, SERVER)?.servers).toHaveLength(1);
  });

  test("without a country has its region's name, and without a city is Unknown", () => {
    const reading = readingOf({ ...SERVER, country: "", region: "US East", city: "" });
    expect(reading?.servers[0]).toMatchObject({ country: "US East", city: "Unknown" });
  });

  test("of an unknown provider is Managed, with WireGuard's usual port", () => {
    const reading = readingOf({ ...SERVER, hostname: "vpn1.example" });
    expect(reading?.servers[0]).toMatchObject({ label: "Managed", port: 51820 });
  });
});

test("a provider with the name of a prototype's property is a provider like any other", () => {
  const document = JSON.parse(`{"version":1,"__proto__":{"servers":[${JSON.stringify(SERVER)}]}}`);
  expect(readGluetun(document)?.servers[0]).toMatchObject({ label: "__proto__", name: "se1-wireguard" });
});

test("the servers.json that only names other files is refused as such", () => {
  const contents = { version: 1, mullvad: { filepath: "/gluetun/servers/mullvad.json" } };
  expect(() => readList(JSON.stringify(contents))).toThrow(
    "the server list (gluetun's table of contents, which names the files to read instead) has no usable WireGuard server",
  );
});

test.each([[[]], [{}], [null], [1], [{ version: 1, mullvad: [] }], [{ servers: [] }]])(
  "%j is not gluetun's",
  (document) => {
    expect([readGluetunProvider(document), readGluetun(document), readGluetunContents(document)]).toEqual([
      null,
      null,
      null,
    ]);
  },
);

/** A real, old file; it is not part of the project. */
const REAL = join(import.meta.dir, "../../../../shared/data/gluetun-servers-2022-04.json");

describe.skipIf(!existsSync(REAL))("the real file of April 2022", () => {
  test("all of its 877 WireGuard servers are usable, and labelled with their providers", async () => {
    const { format, servers, skipped } = readList(await Bun.file(REAL).text());
    expect([format, skipped]).toEqual(["gluetun's servers.json", 0]);
    const counts = Object.entries(Object.groupBy(servers, ({ label, port }) => `${label} ${port}`));
    expect(counts.map(([provider, those]) => [provider, those?.length])).toEqual([
      ["IVPN 58237", 13],
      ["Mullvad 51820", 491],
      ["Windscribe 1194", 373],
    ]);
  });

  test("the part of one provider, as a file of its own, gives the same servers", async () => {
    const text = await Bun.file(REAL).text();
    const whole = readList(text).servers;
    for (const [key, label] of [
      ["ivpn", "IVPN"],
      ["mullvad", "Mullvad"],
      ["windscribe", "Windscribe"],
    ] as const) {
      const { format, servers } = readList(JSON.stringify(JSON.parse(text)[key]));
      expect(format).toBe("a gluetun file of one provider");
      expect(servers).toEqual(whole.filter((server) => server.label === label));
    }
    expect(() => readList(JSON.stringify(JSON.parse(text).nordvpn))).toThrow("no usable WireGuard server");
  });
});
