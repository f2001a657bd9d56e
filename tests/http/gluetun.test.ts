import { afterEach, beforeEach, expect } from "bun:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { slow } from "../fast.ts";
import { PUBLIC } from "../servers/example.ts";
import { Home } from "./home.ts";

const { test } = slow;

const PATHS = ["/v1/publicip/ip", "/v1/portforward", "/v1/vpn/status", "/v1/dns/status", "/v1/vpn/settings"];

const SERVERS = [
  { hostname: "se-1", city: "Stockholm", country: "Sweden", ipv4: "192.0.2.1", multihop_port: 3001 },
  { hostname: "nl-1", city: "Amsterdam", country: "Netherlands", ipv4: "192.0.2.11", multihop_port: 3011 },
].map((each) => ({ ...each, port: 51820, public_key: PUBLIC }));
const EMPTY = { location: "", organization: "", postal_code: "", timezone: "" };
const NOWHERE = { public_ip: "", region: "", country: "", city: "", hostname: "", ...EMPTY };

let home: Home;
beforeEach(async () => {
  home = await Home.start({ gluetun: true }, { "/etc/servers.json": JSON.stringify({ servers: SERVERS }) });
});
afterEach(() => home.stop());

const read = async (path: string) => (await home.send("GET", path)).json;

test("unless the operator wants them, there are no such paths", async () => {
  const other = await Home.start();
  for (const path of PATHS) expect((await other.send("GET", path)).status).toBe(404);
  await other.stop();
});

test("the address and the place are those of the server that the tunnel leads to", async () => {
  expect(await read("/v1/publicip/ip")).toEqual(NOWHERE);
  await home.connect();
  const place = { region: "Stockholm", country: "Sweden", city: "Stockholm", hostname: "se-1" };
  expect(await read("/v1/publicip/ip")).toEqual({ public_ip: "192.0.2.1", ...place, ...EMPTY });
});

test("of two hops the exit's address is not known, and the entry's is not given for it", async () => {
  await home.send("POST", "/api/connect", { server: "se-1", via: "nl-1" });
  expect(await read("/v1/publicip/ip")).toMatchObject({ public_ip: "", city: "Stockholm" });
});

test("a location without a comma is a country", async () => {
  const { overview } = home.parts;
  const { rows } = overview;
  const located = (location: string) => {
    Object.assign(overview, { rows: async () => (await rows()).map((row) => ({ ...row, location })) });
  };
  for (const [location, city, country] of [
    ["at home", "", "at home"],
    ["Nice, old, France", "Nice, old", "France"],
    ["", "", ""],
    [",", "", ""],
  ] as const) {
    located(location);
    expect(await read("/v1/publicip/ip")).toMatchObject({ region: city, city, country });
  }
});

test("without a forwarded port it is 0, and otherwise the first is the port", async () => {
  expect(await read("/v1/portforward")).toEqual({ port: 0, ports: [] });
  home.parts.forwards.portsOf = () => [40_001, 40_002];
  expect(await read("/v1/portforward")).toEqual({ port: 40_001, ports: [40_001, 40_002] });
});

test("the states of the tunnel are gluetun's", async () => {
  const { host, parts } = home;
  const expectStatus = async (status: string) => {
    for (const path of ["/v1/vpn/status", "/v1/dns/status"]) expect(await read(path)).toEqual({ status });
  };
  await expectStatus("stopped");
  await home.connect();
  await expectStatus("running");
  parts.controller.lost("the server is dead");
  await expectStatus("starting");
  await parts.controller.disconnect();
  host.silent.add("192.0.2.1:51820");
  const failing = parts.connects.connect({ server: "se-1" }).catch(() => {});
  await host.pass(11_000);
  await failing;
  await expectStatus("crashed");
});

test("the settings have every field that Homarr needs, and nothing in them but protocol and provider", async () => {
  await home.connect();
  const settings = await read("/v1/vpn/settings");
  expect([settings.type, settings.provider.name]).toEqual(["wireguard", "custom"]);
  const values = (node: unknown): unknown[] =>
    typeof node === "object" && node !== null ? Object.values(node).flatMap(values) : [node];
  expect(new Set(values(settings))).toEqual(new Set(["wireguard", "custom", "", 0, false, null]));
  expect(Object.keys(settings.wireguard)).toContain("private_key");
  home.parts.accounts.managed = () => ({ current: "mullvad", choices: [] });
  expect((await read("/v1/vpn/settings")).provider.name).toBe("mullvad");
});

test("the document describes them like the others", async () => {
  const document = await read("/swagger/json");
  expect(await new Validator().validate(document)).toEqual({ valid: true });
  for (const path of PATHS) {
    const { responses } = document.paths[path].get;
    expect(Object.keys(responses)).toEqual(["200", "4XX", "5XX"]);
  }
});
