import { afterEach, expect } from "bun:test";
import { version } from "../../package.json";
import { partsOn } from "../../src/app/parts.ts";
import { DHCP_FILES } from "../../src/dhcp/files.ts";
import { timeZone } from "../../src/system/time-zone.ts";
import { carriedBy } from "../../src/tunnel/state.ts";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";
import { listenTo } from "./socket.ts";

const { test } = slow;

let home: Home;
afterEach(() => home?.stop());

const read = async () => (await home.send("GET", "/api/settings")).json;

test("GET /api/settings answers what root has set, as it is by default", async () => {
  home = await Home.start();
  expect(await read()).toEqual({
    ...{ version, upgrade: null, command: "sudo portcullis install" },
    ...{ autoconnect: true, failover: false, port_mapping: false, language: "en", time_zone: timeZone() },
    ...{
      quality: { on: true, every_seconds: 10, slow_ms: 300, lossy_percent: 10 },
      dhcp: null,
      mqtt: null,
      line: null,
    },
  });
});

test("the addresses that devices get are those of the DHCP server's configuration, on each interface", async () => {
  home = await Home.start();
  home.parts.settings.dhcp = [];
  expect((await read()).dhcp).toEqual([]);
  const lan = (name: string, net: number) =>
    `interface=${name}\ndhcp-range=192.168.${net}.100,192.168.${net}.249,255.255.255.0,12h\n`;
  home.host.files.set(DHCP_FILES.config, `port=0\n\n${lan("lan0", 7)}\n${lan("lan1", 8)}`);
  expect((await read()).dhcp).toEqual([
    { interface: "lan0", from: "192.168.7.100", to: "192.168.7.249" },
    { interface: "lan1", from: "192.168.8.100", to: "192.168.8.249" },
  ]);
});

test.each([
  ["mqtt://ha@broker.test", "broker.test:1883", false],
  ["mqtts://ha@[fd00::5]:8884", "[fd00::5]:8884", true],
])(
  "of the broker %s nobody is told the user, and each change of the connection is an event",
  async (mqtt, broker, tls) => {
    home = await Home.start();
    Object.assign(home.parts.settings, { mqtt, mqttCommands: true });
    const listener = await listenTo(home.port);
    const shown = { broker, tls, commands: true };
    expect((await read()).mqtt).toEqual({ ...shown, connected: false, error: null });
    home.parts.mqtt.is("connection refused");
    home.parts.mqtt.is("connection refused");
    expect((await read()).mqtt).toEqual({ ...shown, connected: false, error: "connection refused" });
    home.parts.mqtt.is(null);
    expect((await read()).mqtt).toEqual({ ...shown, connected: true, error: null });
    const update = { type: "settings_update", payload: { changed: "mqtt" } };
    expect((await listener.received(3)).slice(1)).toEqual([update, update]);
    expect(await listener.stale(3)).toEqual(["/api/settings"]);
    listener.destroy();
  },
);

const put = (body: object) => home.send("PUT", "/api/settings", body);

test("failover, the connection after a restart and the time zone are changed without a restart", async () => {
  home = await Home.start();
  const listener = await listenTo(home.port);
  const chosen = { failover: true, autoconnect: false, language: "de", time_zone: "Pacific/Auckland" };
  const { status, json } = await put(chosen);
  expect(status).toBe(200);
  expect(json).toEqual({ ...(await read()), ...chosen });
  const { switches, schedules } = home.parts;
  expect([switches.failover, switches.autoconnect]).toEqual([true, false]);
  expect(schedules.list().time_zone).toBe("Pacific/Auckland");
  const update = { type: "settings_update", payload: { changed: "settings" } };
  expect((await listener.received(4)).slice(1)).toEqual([
    update,
    { type: "schedules_update", payload: { count: 0 } },
    update,
  ]);
  listener.destroy();
});

test("how quality is measured is changed without a restart, field by field", async () => {
  home = await Home.start();
  await put({ quality: { slow_ms: 150 } });
  const { status, json } = await put({ quality: { on: false, lossy_percent: 5 } });
  expect(status).toBe(200);
  expect(json.quality).toEqual({ on: false, every_seconds: 10, slow_ms: 150, lossy_percent: 5 });
  expect((await read()).quality).toEqual(json.quality);
  expect(home.parts.qualitySettings.choice).toMatchObject({ on: false, slowMs: 150 });
});

test("the rates of the line are shared from then on, and one that is refused changes nothing else", async () => {
  home = await Home.start();
  const line = { down: 95, up: 19 };
  expect((await put({ line })).json.line).toEqual(line);
  expect(home.host.tc.wordsOf("lan0")).toBe("bandwidth 11875000bps besteffort dual-dsthost");
  expect(home.host.tc.wordsOf("up0")).toBe("");
  const refused = await put({ line: { down: 50, up: 5 }, time_zone: "Mars/Olympus" });
  expect(refused.status).toBe(400);
  home.host.tc.hasCake = false;
  const without = await put({ line: { down: 50, up: 5 }, failover: true });
  expect(without.json.error).toContain("no CAKE");
  expect(await read()).toMatchObject({ line, failover: false });
  expect((await put({ line: null })).json.line).toBeNull();
  expect(home.host.tc.wordsOf("lan0")).toBe("");
});

test("a tunnel that is up when the service starts keeps its queue", async () => {
  home = await Home.start();
  const ending = new AbortController();
  const { signal } = ending;
  void home.parts.fairQueues.keep(signal);
  await home.connect();
  await put({ line: { down: 90, up: 18 } });
  const link = carriedBy(home.parts.controller.state)?.link ?? "";
  const queued = "bandwidth 2250000bps besteffort nat dual-srchost";
  expect(home.host.tc.wordsOf(link)).toBe(queued);
  await home.parts.store.flushed();
  const next = await partsOn(home.host, home.parts.settings);
  await next.tunnels.start(next.catalogue);
  void next.fairQueues.keep(signal);
  expect((await next.fairQueues.missing())?.of).toEqual(["lan0", link]);
  expect(home.host.tc.wordsOf(link)).toBe(queued);
  ending.abort();
});

test("what is not given stays, and null is what root has set", async () => {
  home = await Home.start();
  await put({ failover: true, time_zone: "Asia/Tokyo" });
  expect((await put({ autoconnect: false })).json).toMatchObject({ failover: true, time_zone: "Asia/Tokyo" });
  home.parts.settings.failover = true;
  await put({ failover: false });
  expect(home.parts.switches.failover).toBe(false);
  expect(
    (await put({ failover: null, autoconnect: null, language: null, time_zone: null })).json,
  ).toMatchObject({
    ...{ failover: true, autoconnect: true, language: "en", time_zone: timeZone() },
  });
});

test.each([
  [{}, "body"],
  [{ failover: "yes" }, "failover"],
  [{ dhcp: true }, "dhcp"],
  [{ quality: {} }, "quality"],
  [{ line: { down: 100 } }, "line"],
  [{ failover: true, line: { down: 0, up: 5 } }, "line"],
  [{ failover: true, quality: { every_seconds: 1 } }, "quality"],
  [{ failover: true, time_zone: "Mars/Olympus" }, "time_zone"],
  [{ language: "tlh" }, "language"],
  [{ failover: true, time_zone: "+01:00" }, "time_zone"],
  [{ failover: true, time_zone: "../etc/passwd" }, "time_zone"],
])("%p is refused, and changes nothing", async (body, field) => {
  home = await Home.start();
  const { status, json } = await put(body);
  expect(status).toBe(400);
  expect(json.error).toContain(field);
  expect(await read()).toMatchObject({ failover: false, time_zone: timeZone() });
});
