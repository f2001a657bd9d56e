import { describe, expect, test } from "bun:test";
import { readList } from "../../../src/servers/lists/list.ts";
import { readMullvadApp } from "../../../src/servers/lists/mullvad-app.ts";
import { fixture, lineOf } from "./fixture.ts";

const TEXT = await fixture("mullvad-app");
const DOCUMENT: { locations: object; wireguard: { relays: Record<string, unknown>[] } } = JSON.parse(TEXT);
const [RELAY = {}] = DOCUMENT.wireguard.relays;

/** The list with its WireGuard part changed. */
const withPart = (part: object) => ({ ...DOCUMENT, wireguard: { ...DOCUMENT.wireguard, ...part } });

test("Mullvad's app list: an inactive relay is left out, one in an unknown place is counted", () => {
  const { format, servers, skipped, resolver } = readList(TEXT);
  expect([format, skipped, resolver]).toEqual(["Mullvad's app list", 1, "10.64.0.1"]);
  expect(servers.map(lineOf)).toEqual([
    "se-got-wg-001 | Mullvad | Sweden | Gothenburg | 192.0.2.11:51820 | 5PlQGN",
    "se-mma-wg-001 | Mullvad | Sweden | Malmö | 192.0.2.21:51820 | BLcIEh",
    "us-was-wg-002 | Mullvad | USA | Washington DC | 198.51.100.31:51820 | gwnPVS",
  ]);
});

describe("the port", () => {
  test.each([
    [
      51820,
      [
        [53, 53],
        [51820, 51820],
      ],
    ],
    [
      4000,
      [
        [4000, 33433],
        [52001, 60000],
      ],
    ],
    [443, ["x", [443], [0, 65536], [443, 443]]],
    [51820, []],
    [51820, "51820"],
    [51820, undefined],
  ])("is %i if the ranges are %j", (port, port_ranges) => {
    expect(readMullvadApp(withPart({ port_ranges }))?.servers[0]?.port).toBe(port);
  });
});

test.each([
  [{ lwo: {} }, true],
  [{ daita: {}, lwo: {}, quic: null }, true],
  [{ lwo: null }, undefined],
  [{ daita: {} }, undefined],
  [{ lwo: true }, undefined],
  [null, undefined],
  ["lwo", undefined],
])("of a relay with the features %j, LWO is %p", (features, lwo) => {
  const [server] = readMullvadApp(withPart({ relays: [{ ...RELAY, features }] }))?.servers ?? [];
  expect(server?.offers?.lwo).toBe(lwo as true);
});

test.each([
  [[[51_900, 51_949]], [], { ports: [[51_900, 51_949]] }],
  [
    [[51_900, 51_949]],
    ["2001:db8::1", "192.0.2.99", "192.0.2.98"],
    { ports: [[51_900, 51_949]], addresses: ["192.0.2.99"] },
  ],
  [undefined, ["192.0.2.99"], { ports: [], addresses: ["192.0.2.99"] }],
  ["51900", ["127.0.0.1", 7, "x"], undefined],
  [undefined, undefined, undefined],
])("with Shadowsocks at ports %j and addresses %j, a server offers %j", (ranges, addresses, shadowsocks) => {
  const relays = [{ ...RELAY, shadowsocks_extra_addr_in: addresses }];
  const [server] = readMullvadApp(withPart({ relays, shadowsocks_port_ranges: ranges }))?.servers ?? [];
  expect(server?.offers?.shadowsocks).toEqual(shadowsocks as never);
});

test.each(["8.8.8.8", "10.64.0.1/32", "fd00::1", 7, null])(
  "the gateway %j is not used as a resolver inside the tunnel",
  (ipv4_gateway) => {
    expect(readMullvadApp(withPart({ ipv4_gateway }))).not.toHaveProperty("resolver");
  },
);

test.each([
  ["not an object", 1],
  ["the name of a prototype's property as its place", { ...RELAY, hostname: "x", location: "constructor" }],
  ["a place that is not text", { ...RELAY, hostname: "x", location: ["se-got"] }],
  ["no key", { ...RELAY, hostname: "x", public_key: undefined }],
  ["the name of another", RELAY],
])("an entry with %s is skipped and counted", (_, entry) => {
  const reading = readMullvadApp(withPart({ relays: [RELAY, entry] }));
  expect(reading).toMatchObject({ servers: [{ name: "se-got-wg-001" }], skipped: 1 });
});

test.each([[[]], [{}], [{ ...DOCUMENT, locations: [] }], [{ ...DOCUMENT, wireguard: [] }], [null]])(
  "%j is not this format",
  (document) => {
    expect(readMullvadApp(document)).toBeNull();
  },
);
