import { describe, expect, test } from "bun:test";
import { readList } from "../../../src/servers/lists/list.ts";
import { readPia } from "../../../src/servers/lists/pia.ts";
import { lineOf } from "./fixture.ts";

const BERLIN = {
  id: "de_berlin",
  name: "DE Berlin",
  country: "DE",
  auto_region: true,
  dns: "de-berlin.privacy.network",
  port_forward: true,
  geo: false,
  offline: false,
  servers: {
    ovpntcp: [{ ip: "192.0.2.1", cn: "berlin424", van: true }],
    wg: [
      { ip: "192.0.2.24", cn: "berlin424" },
      { ip: "192.0.2.25", cn: "berlin425" },
    ],
  },
};
const regionOf = (name: string, country: string, cn: string, ip: string) => ({
  ...BERLIN,
  name,
  country,
  servers: { wg: [{ ip, cn }] },
});
const LIST = {
  groups: { wg: [{ name: "wireguard", ports: [1337] }] },
  regions: [
    BERLIN,
    regionOf("Netherlands", "NL", "amsterdam402", "192.0.2.30"),
    regionOf("US East", "US", "newjersey401", "192.0.2.31"),
    { ...regionOf("UK London", "GB", "london401", "192.0.2.32"), offline: true },
    { ...BERLIN, name: "FR Paris", country: "FR", servers: { ovpntcp: [] } },
  ],
};
const SIGNATURE = `${"AbC+/9".repeat(12)}\n${"dEf01".repeat(12)}==\n`;

test("PIA's list, with the signature that follows it: servers without a key, by country and city", () => {
  const { format, servers, skipped } = readList(`${JSON.stringify(LIST)}\n\n${SIGNATURE}`);
  expect([format, skipped]).toEqual(["PIA's list", 0]);
  expect(servers.map(lineOf)).toEqual([
    "berlin424 | PIA | Germany | Berlin | 192.0.2.24:1337 | undefined",
    "berlin425 | PIA | Germany | Berlin | 192.0.2.25:1337 | undefined",
    "amsterdam402 | PIA | Netherlands | Netherlands | 192.0.2.30:1337 | undefined",
    "newjersey401 | PIA | United States | East | 192.0.2.31:1337 | undefined",
  ]);
});

test("the list is read without a signature too, and a second line that is none is refused", () => {
  expect(readList(JSON.stringify(LIST, null, 1)).servers).toHaveLength(4);
  for (const tail of ["\n{}", `\n${SIGNATURE}!`, "\nabc"])
    expect(() => readList(`${JSON.stringify(LIST)}${tail}`)).toThrow("the server list is not JSON");
});

describe("a malformed entry is counted, and the others are read", () => {
  const withServer = (one: unknown) => ({ ...BERLIN, servers: { wg: [one] } });
  test.each([
    ["a region that is not an object", 1],
    ["a country that is not a code", { ...BERLIN, country: "Germany" }],
    ["a region without servers", { ...BERLIN, servers: undefined }],
    ["a server without a name", withServer({ ip: "192.0.2.40" })],
    ["a name that is a path", withServer({ ip: "192.0.2.40", cn: "berlin/../x" })],
    ["a name with a port", withServer({ ip: "192.0.2.40", cn: "berlin:443" })],
    ["a name with a user", withServer({ ip: "192.0.2.40", cn: "a@b" })],
    ["a loopback address", withServer({ ip: "127.0.0.1", cn: "berlin499" })],
    ["an IPv6 address", withServer({ ip: "2001:db8::1", cn: "berlin499" })],
    ["the name of another", withServer({ ip: "192.0.2.40", cn: "berlin424" })],
  ])("%s", (_, region) => {
    const reading = readPia({ ...LIST, regions: [...LIST.regions, region] });
    expect([reading?.servers.length, reading?.skipped]).toEqual([4, 1]);
  });
});
