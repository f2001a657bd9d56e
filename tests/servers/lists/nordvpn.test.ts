import { describe, expect, test } from "bun:test";
import { readList } from "../../../src/servers/lists/list.ts";
import { readNordvpn } from "../../../src/servers/lists/nordvpn.ts";
import { PUBLIC } from "../example.ts";
import { lineOf } from "./fixture.ts";

const WIREGUARD = { identifier: "wireguard_udp", metadata: [{ name: "public_key", value: PUBLIC }] };
const SERVER = {
  hostname: "se500.nordvpn.com",
  station: "192.0.2.11",
  status: "online",
  locations: [{ country: { name: "Sweden", city: { name: "Stockholm" } } }],
  technologies: [{ identifier: "openvpn_udp", metadata: [] }, WIREGUARD],
};
const LIST = [
  SERVER,
  { ...SERVER, hostname: "se501.nordvpn.com", status: "offline" },
  { ...SERVER, hostname: "se502.nordvpn.com", technologies: [SERVER.technologies[0]] },
];

test("NordVPN's list: what is offline or has no WireGuard is left out", () => {
  const { format, servers, skipped } = readList(JSON.stringify(LIST));
  expect([format, skipped]).toEqual(["NordVPN's list", 0]);
  expect(servers.map(lineOf)).toEqual([
    `se500.nordvpn.com | NordVPN | Sweden | Stockholm | 192.0.2.11:51820 | ${PUBLIC.slice(0, 6)}`,
  ]);
});

describe("a malformed entry is counted, and the others are read", () => {
  test.each([
    ["not an object", 1],
    ["without a place", { ...SERVER, hostname: "x", locations: [] }],
    ["without a key", { ...SERVER, hostname: "x", technologies: [{ ...WIREGUARD, metadata: [] }] }],
    ["with a private name", { ...SERVER, hostname: "a\u202eb" }],
    ["with an address that is none", { ...SERVER, hostname: "x", station: "localhost" }],
    ["with the name of another", SERVER],
  ])("%s", (_, entry) => {
    const reading = readNordvpn([...LIST, entry]);
    expect([reading?.servers.length, reading?.skipped]).toEqual([1, 1]);
  });
});
