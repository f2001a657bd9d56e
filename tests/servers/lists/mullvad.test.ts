import { expect, test } from "bun:test";
import { readList } from "../../../src/servers/lists/list.ts";
import { readMullvad } from "../../../src/servers/lists/mullvad.ts";
import { fixture, lineOf } from "./fixture.ts";

const TEXT = await fixture("mullvad");
const RELAYS: readonly Record<string, unknown>[] = JSON.parse(TEXT);
const RELAY = RELAYS.find((relay) => relay.hostname === "se-got-wg-001") ?? {};

test("Mullvad's flat list: inactive relays and bridges are left out, one without a key is counted", () => {
  const { format, servers, skipped, resolver } = readList(TEXT);
  expect([format, skipped, resolver]).toEqual(["Mullvad's flat list", 1, undefined]);
  expect(servers.map(lineOf)).toEqual([
    "se-got-wg-001 | Mullvad | Sweden | Gothenburg | 192.0.2.11:51820 | ERPwqU",
    "se-mma-wg-001 | Mullvad | Sweden | Malmö | 192.0.2.21:51820 | KuLw3s",
    "us-was-wg-002 | Mullvad | USA | Washington DC | 198.51.100.31:51820 | t0PL4b",
  ]);
});

test("the label is Mullvad, not the owner of the machine, and the port is not the one for multihop", () => {
  const reading = readMullvad([{ ...RELAY, provider: "M247", multihop_port: 3001 }]);
  expect(reading?.servers[0]).toMatchObject({ label: "Mullvad", port: 51820, multihopPort: 3001 });
});

test.each([undefined, null, 0, 65536, 3001.5, "3001"])(
  "a server with the multihop port %p has none",
  (port) => {
    const [server] = readMullvad([{ ...RELAY, multihop_port: port }])?.servers ?? [];
    expect(server?.name).toBe("se-got-wg-001");
    expect(server).not.toHaveProperty("multihopPort");
  },
);

test.each([
  ["not an object", null],
  ["another array", []],
  ["no hostname", { ...RELAY, hostname: undefined }],
  ["a number for its city", { ...RELAY, hostname: "x", city_name: 1 }],
  ["no active field", { ...RELAY, hostname: "x", active: undefined }],
  ["a bad key", { ...RELAY, hostname: "x", pubkey: "x" }],
  ["an IPv6 address for IPv4", { ...RELAY, hostname: "x", ipv4_addr_in: "2001:db8::1" }],
  ["the name of another", RELAY],
])("an entry with %s is skipped and counted", (_, entry) => {
  expect(readMullvad([RELAY, entry])).toMatchObject({ servers: [{ name: "se-got-wg-001" }], skipped: 1 });
});

test.each([[[]], [[1, null]], [[{ hostname: "a" }]], [RELAY], [null], ["text"]])(
  "%j is not this format",
  (document) => {
    expect(readMullvad(document)).toBeNull();
  },
);
