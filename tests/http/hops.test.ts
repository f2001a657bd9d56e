import { afterEach, beforeEach, expect } from "bun:test";
import { partsOn } from "../../src/app/parts.ts";
import { contentsOf } from "../../src/backup/contents.ts";
import { slow } from "../fast.ts";
import { BODY } from "../servers/example.ts";
import { serversIn } from "../tunnel/gateway.ts";
import { Home } from "./home.ts";

const { test } = slow;

/** Two cities of one country, another country, one that others do not forward to, and one of another provider. */
const LIST = [
  listed("se-1", "Stockholm, Sweden", 1),
  listed("se-2", "Gothenburg, Sweden", 2),
  listed("nl-1", "Amsterdam, Netherlands", 11),
  listed("nl-2", "Amsterdam, Netherlands", 12),
  { ...listed("no-1", "Oslo, Norway", 21), multihop_port: undefined },
  { ...listed("dk-1", "Aarhus, Denmark", 31), provider: "Other" },
];

function listed(hostname: string, place: string, number: number) {
  const [city = "", country = ""] = place.split(", ");
  const public_key = new Uint8Array(32).fill(number).toBase64();
  const end = { ipv4: `192.0.2.${number}`, port: 51820, multihop_port: 3000 + number, public_key };
  return { hostname, country, city, ...end, provider: "Box" };
}

let home: Home;
beforeEach(async () => {
  home = await Home.listing(LIST);
});
afterEach(() => home.stop());

const connect = (server: string, via?: string) => home.ask("POST", "/api/connect", { server, via });
const rowOf = async (name = "main") =>
  (await home.send("GET", "/api/tunnels")).json.tunnels.find((each: { name: string }) => each.name === name);
/** The endpoints and keys that the tunnels' interfaces have; a former one stays for a second. */
const peers = () =>
  [...home.host.links.values()].flatMap(({ device }) =>
    device?.peer == null ? [] : [`${device.peer.endpoint} ${device.peer.publicKey}`],
  );
const keyOf = (number: number) => new Uint8Array(32).fill(number).toBase64();
const OK = { status: 200, success: true };

test("two hops: packets go to the entry's address at the exit's port, by the exit's key, and to nowhere else", async () => {
  expect(await connect("se-1", "nl-1")).toEqual(OK);
  expect(peers()).toEqual([`192.0.2.11:3001 ${keyOf(1)}`]);
  expect(serversIn(home.host.table)).toEqual(["192.0.2.11:3001"]);
  const place = { server: "se-1", ip: "192.0.2.11", location: "Stockholm, Sweden" };
  expect(await home.status()).toMatchObject({ connected: true, ...place, via: "nl-1" });
  expect(await rowOf()).toMatchObject({ ...place, wanted: "se-1", via: "nl-1", wanted_via: "nl-1" });
});

test("without an entry no answer says anything of one", async () => {
  const texts = async () => {
    const paths = ["status", "tunnels", "favourites", "round-trips", "events"];
    const answers = await Promise.all(paths.map((path) => home.again("GET", `/api/${path}`)));
    return answers.map(({ text }) => text).join("\n");
  };
  expect(await connect("se-1")).toEqual(OK);
  await home.pass(1_000);
  expect(await texts()).not.toContain("via");
  expect(await connect("se-1", "nl-1")).toEqual(OK);
  await home.pass(1_000);
  expect((await texts()).match(/"via":"nl-1"/g)).toHaveLength(4);
});

test("the tree says which servers can be reached through another one", async () => {
  const { servers } = (await home.send("GET", "/api/servers")).json;
  const record = (hostname: string, ipv4: string) => ({ hostname, ipv4, type: "WireGuard", provider: "Box" });
  expect(servers.Sweden.Stockholm).toEqual([{ ...record("se-1", "192.0.2.1"), multihop: true }]);
  expect(servers.Norway.Oslo).toEqual([record("no-1", "192.0.2.21")]);
});

test.each([
  ["se-1", "se-1", "via: se-1 cannot be entry and exit at once; choose another entry"],
  [
    "no-1",
    "se-1",
    "server: no-1 cannot be reached through another server, because its list has no multi-hop port for it; leave out via or choose another server",
  ],
  [
    "se-1",
    "dk-1",
    "via: dk-1 is a server of Other and se-1 one of Box; choose an entry of the same provider",
  ],
  [
    "Norway",
    "se-1",
    "server: no server in Norway can be reached through another server; leave out via or choose another place",
  ],
  ["se-1", "Denmark", "via: no server in Denmark can be the entry for se-1; choose another place"],
  ["se-1", "Stockholm", "via: no server in Stockholm can be the entry for se-1; choose another place"],
  [
    "Stockholm",
    "Stockholm",
    "via: no server in Stockholm can be the entry for Stockholm; choose another place",
  ],
  ["se-1", "se-9", "via: there is no server, country or city of this name among the VPN account's servers"],
  ["se-1", "", "via must be a non-empty string"],
])("%s via %s is refused with a reason that names the field", async (server, via, error) => {
  expect(await connect(server, via)).toEqual({ status: 400, success: false, error } as never);
  expect(await home.ask("PUT", "/api/tunnels/tv", { server, via })).toMatchObject({ status: 400, error });
  expect(await rowOf("tv")).toBeUndefined();
});

test("a server of one's own has no port for two hops", async () => {
  home.parts.catalogue.addCustom(BODY);
  home.parts.catalogue.addCustom({ ...BODY, name: "work", endpoint: "192.0.2.9:51820" });
  expect(
    await home.ask("PUT", "/api/tunnels/tv", { provider: "custom", server: "home", via: "work" }),
  ).toMatchObject({
    status: 400,
    error: expect.stringMatching(/^server: home cannot be reached through another server/),
  });
  expect(
    await home.ask("PUT", "/api/tunnels/tv", { provider: "custom", server: "home", via: "se-1" }),
  ).toMatchObject({
    status: 400,
    error: "via: there is no server, country or city of this name among your own servers",
  });
});

test("of a place the nearest entry is taken, and of the exits the nearest through it", async () => {
  const far = {
    "192.0.2.11:51820": 90,
    "192.0.2.12:51820": 20,
    "192.0.2.12:3001": 80,
    "192.0.2.12:3002": 40,
  };
  for (const [endpoint, ms] of Object.entries(far)) home.host.roundTrips.set(endpoint, ms);
  // Directly, the other exit is nearer.
  home.host.roundTrips.set("192.0.2.1:51820", 1);
  home.host.patient = false;
  expect(await connect("Sweden", "Netherlands")).toEqual(OK);
  expect(peers()).toEqual([`192.0.2.12:3002 ${keyOf(2)}`]);
  expect(await rowOf()).toMatchObject({
    ...{ server: "se-2", via: "nl-2", wanted: "Sweden", wanted_via: "Netherlands", ip: "192.0.2.12" },
  });
  const { round_trips } = (await home.send("GET", "/api/round-trips")).json;
  expect(round_trips.map(({ server, via }: Record<string, unknown>) => [server, via])).toEqual([
    ["nl-2", undefined],
    ["se-2", "nl-2"],
    ["se-1", "nl-2"],
    ["nl-1", undefined],
  ]);
  const { length } = home.host.commands;
  expect(await connect("Sweden", "Netherlands")).toEqual(OK);
  expect(home.host.commands.slice(length).filter((command) => /^(wg set|ip link)/.test(command))).toEqual([]);
});

test("of two hops, the exit is as good as its way: a direct connect to it moves the tunnel, and back", async () => {
  await connect("se-1", "nl-1");
  for (const [via, endpoint] of [
    [undefined, "192.0.2.1:51820"],
    ["nl-2", "192.0.2.12:3001"],
    ["nl-1", "192.0.2.11:3001"],
  ] as const) {
    expect(await connect("se-1", via)).toEqual(OK);
    await home.pass(2_000);
    expect(peers()).toEqual([`${endpoint} ${keyOf(1)}`]);
  }
});

test("two tunnels cannot lead to one exit by different entries: it knows the gateway by one key", async () => {
  await connect("se-1", "nl-1");
  expect(await home.ask("PUT", "/api/tunnels/tv", { server: "se-1", via: "nl-2" })).toEqual({
    status: 400,
    success: false,
    error:
      "server: the main tunnel leads there with the same key; choose another server, or one with a key of its own",
  } as never);
  expect(await home.ask("PUT", "/api/tunnels/tv", { server: "se-2", via: "nl-1" })).toEqual(OK);
  expect(await home.ask("PUT", "/api/tunnels/nl", { server: "nl-1", via: "se-1" })).toEqual(OK);
  expect(await rowOf("tv")).toMatchObject({ server: "se-2", via: "nl-1" });
});

test("entries that tunnels use cannot be measured, and serve all the same", async () => {
  await connect("nl-1");
  await home.ask("PUT", "/api/tunnels/tv", { server: "nl-2" });
  expect(await home.ask("PUT", "/api/tunnels/work", { server: "se-1", via: "Netherlands" })).toEqual(OK);
  expect(await rowOf("work")).toMatchObject({ server: "se-1", via: expect.stringMatching(/^nl-[12]$/) });
});

/** A new process on the same kernel and the same disk. */
async function restarted() {
  const parts = await partsOn(home.host, home.parts.settings);
  await parts.tunnels.start(parts.catalogue);
  const row = await parts.controller.row();
  parts.store.close();
  return row;
}

test("a service that starts again takes up both hops, also if it had no time to save them", async () => {
  await connect("se-1", "nl-1");
  const both = {
    state: "connected",
    server: "se-1",
    via: "nl-1",
    wanted: "se-1",
    wanted_via: "nl-1",
  } as const;
  expect(await restarted()).toMatchObject({ ...both, ip: "192.0.2.11" });
  const { savedState } = home.parts;
  savedState.saveConnection({ provider: "managed", name: "se-1", since: 0 });
  expect(await restarted()).toMatchObject(both);
  savedState.saveConnection({ provider: "managed", name: "se-1", via: "nl-2", since: 0 });
  expect(await restarted()).toMatchObject(both);
  await connect("se-1");
  await home.pass(2_000);
  savedState.saveConnection({ provider: "managed", name: "se-1", via: "nl-2", since: 0 });
  const direct = await restarted();
  expect(direct).toMatchObject({ state: "connected", server: "se-1", ip: "192.0.2.1" });
  expect(direct).not.toHaveProperty("via");
});

test("after a reboot both hops are dialled again, and the place that was asked for is known", async () => {
  expect(await connect("se-1", "Netherlands")).toEqual(OK);
  const { via } = await rowOf();
  for (const name of [...home.host.links.keys()].filter((each) => each.startsWith("wg")))
    home.host.links.delete(name);
  home.host.routes.clear?.();
  const parts = await partsOn(home.host, home.parts.settings);
  await parts.tunnels.start(parts.catalogue);
  expect(await parts.controller.row()).toMatchObject({
    ...{ state: "reconnecting", wanted: "se-1", wanted_via: "Netherlands" },
  });
  await parts.tunnels.main.supervisor.look();
  expect(await parts.controller.row()).toMatchObject({ state: "connected", server: "se-1", via });
  parts.store.close();
});

test("with failover, hops whose entry is dead are replaced by the same exit through another entry", async () => {
  await connect("se-1", "nl-1");
  await home.pass(2_000);
  const parts = await partsOn(home.host, { ...home.parts.settings, failover: true });
  await parts.tunnels.start(parts.catalogue);
  for (const port of [3001, 3002]) home.host.silent.add(`192.0.2.11:${port}`);
  Object.assign(home.host, { patient: false, busy: true });
  const { controller, supervisor } = parts.tunnels.main;
  for (let looks = 0; looks < 400 && (await controller.row()).via !== "nl-2"; looks++) {
    await supervisor.look();
    await home.host.sleep(1_000);
  }
  expect(await controller.row()).toMatchObject({
    ...{ state: "connected", server: "se-1", via: "nl-2", wanted: "se-1", wanted_via: "nl-2" },
  });
  expect(parts.savedState.connection()).toMatchObject({ name: "se-1", via: "nl-2" });
  parts.store.close();
});

test("the journal, the metrics, the recent servers and a backup name the entry", async () => {
  await connect("se-1", "nl-1");
  await connect("se-1");
  await connect("se-1", "nl-1");
  const { events } = (await home.send("GET", "/api/events")).json;
  expect(events.map(({ server, via }: Record<string, unknown>) => [server, via])).toEqual([
    ["se-1", "nl-1"],
    ["se-1", undefined],
    ["se-1", "nl-1"],
  ]);
  const { recent } = (await home.send("GET", "/api/favourites")).json;
  expect(recent.map(({ server, via }: Record<string, unknown>) => [server, via])).toEqual([
    ["se-1", "nl-1"],
    ["se-1", undefined],
  ]);
  const { text } = await home.send("GET", "/metrics");
  expect(text).toContain(`,public_key="${keyOf(1)}",tunnel="main",via="nl-1"}`);
  const { settings } = contentsOf(home.parts.store, 0);
  expect(JSON.parse(settings.connection ?? "")).toMatchObject({
    provider: "managed",
    name: "se-1",
    via: "nl-1",
  });
});

test("an exit that is silent by one entry is named with it, and the former tunnel stays", async () => {
  await connect("se-2");
  home.host.silent.add("192.0.2.11:3001");
  home.host.patient = false;
  expect(await connect("se-1", "nl-1")).toMatchObject({
    status: 500,
    error: expect.stringMatching(/^se-1 via nl-1 did not answer the WireGuard handshake within 10 s/),
  });
  const status = await home.status();
  expect(status).toMatchObject({ connected: true, server: "se-2" });
  expect(status).not.toHaveProperty("via");
});
