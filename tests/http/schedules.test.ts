import { afterEach, beforeEach, expect } from "bun:test";
import { privateNames } from "../../src/app/private-names.ts";
import type { ScheduleBody } from "../../src/schedules/schema.ts";
import { slow } from "../fast.ts";
import { PUBLIC } from "../servers/example.ts";
import { Home } from "./home.ts";
import { listenTo } from "./socket.ts";

const { test } = slow;

const TV = "02:00:00:00:00:20";
const HOUR_MS = 3_600_000;
const SUCCESS = { status: 200, text: '{"success":true}' };
const keyOf = (number: number) => (number === 1 ? PUBLIC : Buffer.alloc(32, number).toString("base64"));

/** Two servers in one city, and one elsewhere. */
const SERVERS = [
  ["se-1", "Sweden", "Stockholm"],
  ["se-2", "Sweden", "Stockholm"],
  ["no-1", "Norway", "Oslo"],
].map(([hostname, country, city], index) => ({
  ...{ hostname, country, city, ipv4: `192.0.2.${index + 1}`, port: 51820 },
  public_key: keyOf(index + 1),
}));

let home: Home;
let stopping: AbortController;
beforeEach(async () => {
  stopping = new AbortController();
  home = await Home.listing(SERVERS);
});
afterEach(async () => {
  stopping.abort();
  await home.stop();
});

const put = async (name: string, body: object) => {
  const { status, text } = await home.send("PUT", `/api/schedules/${name}`, JSON.stringify(body));
  return { status, text };
};
const list = async () => (await home.send("GET", "/api/schedules")).json;
const exitOf = async (id: string) =>
  (await home.send("GET", "/api/devices")).json.devices.find((each: { id: string }) => each.id === id)?.exit;

/** A time of day so many hours from now, where this machine is. */
function timeIn(hours: number): string {
  const zone = home.parts.schedules.list().time_zone;
  const now = Temporal.Instant.fromEpochMilliseconds(Math.floor(home.host.now())).toZonedDateTimeISO(zone);
  return now.add({ hours }).toPlainTime().toString({ smallestUnit: "minute" });
}

test("a schedule whose time is now gives the device its exit, until a person or its removal ends it", async () => {
  const body: ScheduleBody = { device: TV, exit: "blocked", at: timeIn(-1), until: timeIn(1) };
  expect(await list()).toEqual({ time_zone: expect.any(String), schedules: [] });
  expect(await put("bedtime", body)).toEqual(SUCCESS);
  expect(await exitOf(TV)).toBe("blocked");
  expect((await list()).schedules).toEqual([
    { name: "bedtime", ...body, active: true, next_at: expect.stringMatching(/Z$/), error: null },
  ]);
  await home.send("PUT", `/api/devices/${TV}`, '{"exit":"main"}');
  expect(await exitOf(TV)).toBe("main");
  expect((await list()).schedules).toMatchObject([{ active: false }]);
  expect(await put("bedtime", body)).toEqual(SUCCESS);
  expect(privateNames(home.parts)).toContain("bedtime");
  expect(await exitOf(TV)).toBe("main");
  expect(await put("bedtime", { ...body, at: timeIn(-2) })).toEqual(SUCCESS);
  expect(await exitOf(TV)).toBe("blocked");
  expect((await home.send("DELETE", "/api/schedules/bedtime")).text).toBe(SUCCESS.text);
  expect(await exitOf(TV)).toBe("main");
});

test("a schedule gives a device a rate, and its own one holds again when a person or its removal ends it", async () => {
  const rateOf = async () =>
    (await home.send("GET", "/api/devices")).json.devices.find(({ id }: { id: string }) => id === TV)?.rate;
  const [own, slow] = [
    { down: 20, up: null },
    { down: 5, up: 1 },
  ];
  const body: ScheduleBody = { device: TV, rate: slow, at: timeIn(-1), until: timeIn(1) };
  await home.send("PUT", `/api/devices/${TV}`, JSON.stringify({ rate: own }));
  expect(await put("evening", body)).toEqual(SUCCESS);
  expect(await rateOf()).toEqual(slow);
  expect((await list()).schedules).toMatchObject([{ name: "evening", ...body, active: true }]);
  // What is refused leaves it as it is.
  const refused = await home.send("PUT", `/api/devices/${TV}`, '{"rate":null,"exit":"nowhere"}');
  expect([refused.status, await rateOf()]).toEqual([404, slow]);
  expect((await home.send("DELETE", "/api/schedules/evening")).text).toBe(SUCCESS.text);
  expect(await rateOf()).toEqual(own);
  expect(await put("evening", { ...body, rate: null })).toEqual(SUCCESS);
  expect(await rateOf()).toBeUndefined();
  await home.send("PUT", `/api/devices/${TV}`, JSON.stringify({ rate: own }));
  expect([await rateOf(), (await list()).schedules[0].active]).toEqual([own, false]);
  expect((await put("evening", { ...body, device: "10.200.7.9/32" })).text).toContain(
    "rate: is for single devices",
  );
  await home.send("DELETE", "/api/schedules/evening");
  await home.send("PUT", `/api/devices/${TV}`, '{"rate":null}');
});

test("a schedule gives everybody else a rate, pages are told, and a person or its removal ends it", async () => {
  const listener = await listenTo(home.port);
  const sharedRate = async () => (await home.send("GET", "/api/devices")).json.shared_rate;
  const [own, slow] = [
    { down: 50, up: null },
    { down: 5, up: 1 },
  ];
  const shareOwn = () => home.send("PUT", "/api/shared-rate", JSON.stringify({ rate: own }));
  const body: ScheduleBody = { shared_rate: slow, at: timeIn(-1), until: timeIn(1) };
  await shareOwn();
  expect(await put("guests", body)).toEqual(SUCCESS);
  expect(await sharedRate()).toEqual(slow);
  expect((await list()).schedules).toMatchObject([{ name: "guests", ...body, active: true }]);
  expect(await listener.stale(3)).toEqual(["/api/devices", "/api/networks", "/api/schedules"]);
  expect((await home.send("DELETE", "/api/schedules/guests")).text).toBe(SUCCESS.text);
  expect(await sharedRate()).toEqual(own);
  expect(await put("guests", { ...body, shared_rate: null })).toEqual(SUCCESS);
  expect(await sharedRate()).toBeUndefined();
  await shareOwn();
  expect([await sharedRate(), (await list()).schedules[0].active]).toEqual([own, false]);
  await home.send("DELETE", "/api/schedules/guests");
  await home.send("PUT", "/api/shared-rate", '{"rate":null}');
});

test("a schedule gives a device or everybody else a quota, and the own one goes on afterwards where it was", async () => {
  const quotas = async () => {
    const { devices, shared_quota } = (await home.send("GET", "/api/devices")).json;
    return [devices.find(({ id }: { id: string }) => id === TV)?.quota, shared_quota];
  };
  const [own, small] = (["month", "day"] as const).map((every) => ({
    megabytes: 500,
    every,
    at_end: "told",
  }));
  const times = { at: timeIn(-1), until: timeIn(1) };
  await home.send("PUT", `/api/devices/${TV}`, JSON.stringify({ quota: own }));
  home.host.useQuotas(100_000_000);
  expect(await quotas()).toEqual([{ ...own, used_bytes: 100_000_000 }, undefined]);
  expect(await put("school", { device: TV, quota: small, ...times })).toEqual(SUCCESS);
  expect(await put("guests", { shared_quota: small, ...times })).toEqual(SUCCESS);
  expect(await quotas()).toEqual([
    { ...small, used_bytes: 0 },
    { ...small, used_bytes: 0 },
  ]);
  expect((await list()).schedules).toMatchObject([
    { name: "guests", shared_quota: small, active: true },
    { name: "school", quota: small, active: true },
  ]);
  home.host.useQuotas(30_000_000);
  expect(await quotas()).toMatchObject([{ used_bytes: 30_000_000 }, { used_bytes: 30_000_000 }]);
  await home.send("DELETE", "/api/schedules/school");
  await home.send("PUT", "/api/shared-quota", '{"quota":null}');
  expect(await quotas()).toEqual([{ ...own, used_bytes: 100_000_000 }, undefined]);
  expect((await list()).schedules).toMatchObject([{ name: "guests", active: false }]);
  expect(await put("school", { device: TV, quota: null, ...times })).toEqual(SUCCESS);
  expect(await quotas()).toEqual([undefined, undefined]);
  await home.send("PUT", `/api/devices/${TV}`, '{"quota":null}');
});

test("listeners are told of each change", async () => {
  const listener = await listenTo(home.port);
  await listener.received(1);
  await put("nightly", { tunnel: "main", at: "04:00" });
  await home.send("DELETE", "/api/schedules/nightly");
  await home.send("GET", "/api/schedules");
  const events = (await listener.received(3)).slice(1);
  expect(events).toContainEqual({ type: "schedules_update", payload: { count: 1 } });
  expect(events.at(-1)).toEqual({ type: "schedules_update", payload: { count: 0 } });
});

test.each<[object, number, string]>([
  [{}, 400, "either tunnel, device, shared_rate or shared_quota is required"],
  [{ tunnel: "main", at: "4:00" }, 400, "at: must be a time of 24 hours, such as 21:00 or 07:30"],
  [{ tunnel: "main", every_hours: 0 }, 400, "every_hours must be a whole number from 1 to 720"],
  [{ tunnel: "main", at: "04:00", days: ["monday"] }, 400, "days contains a value that is not valid"],
  [{ tunnel: "tv", at: "04:00" }, 404, "tunnel: there is no tunnel of this name"],
  [
    { device: "tv", exit: "main", at: "21:00", until: "07:00" },
    400,
    "device: must be a MAC address, such as 02:00:00:00:00:20, or a prefix behind another router of the LAN, such as 10.8.0.0/24",
  ],
  [
    { device: TV, exit: "tv", at: "21:00", until: "07:00" },
    404,
    "exit: there is no such tunnel; the exits are main, blocked",
  ],
  [
    { tunnel: "main", time: "04:00" },
    400,
    "unknown field time: the known ones are tunnel, device, exit, rate, quota, shared_rate, shared_quota, at, until, every_hours, once, days",
  ],
])("PUT %j is refused with %i", async (body, status, error) => {
  expect(await put("one", body)).toEqual({ status, text: JSON.stringify({ success: false, error }) });
  expect((await list()).schedules).toEqual([]);
});

test("a schedule that does not exist cannot be removed", async () => {
  const { status, json } = await home.send("DELETE", "/api/schedules/one");
  expect([status, json.error]).toEqual([404, "name: there is no schedule of this name"]);
});

test.each(["se-1", "Stockholm", "Sweden"])(
  "a tunnel to %s moves to the other server of the place, and keeps the place; a failure leaves it and is told",
  async (wanted) => {
    await home.connect(wanted);
    const first = (await home.status()).server;
    const other = first === "se-1" ? "se-2" : "se-1";
    await put("often", { tunnel: "main", every_hours: 1 });
    void home.parts.schedules.watch(stopping.signal);
    await home.pass(HOUR_MS);
    await home.pass(10_000);
    expect(await home.status()).toMatchObject({ connected: true, server: other });
    const row = async () => (await home.send("GET", "/api/tunnels")).json.tunnels[0];
    expect((await row()).wanted).toBe(wanted === "se-1" ? other : wanted);
    home.host.silent.add(`192.0.2.${first.at(-1)}:51820`);
    await home.pass(HOUR_MS);
    await home.pass(60_000);
    expect(await home.status()).toMatchObject({ connected: true, server: other });
    const [{ error }] = (await list()).schedules;
    expect(error).toStartWith("the main tunnel does not move: ");
    const { events } = (await home.send("GET", "/api/events?limit=200")).json;
    expect(events.filter(({ code }: { code?: string }) => code === "schedule_failed")).toMatchObject([
      { message: `The schedule "often" failed: ${error}.` },
    ]);
  },
);

test("a tunnel to the only server of its place stays there, and one that leads nowhere stays so", async () => {
  await put("often", { tunnel: "main", every_hours: 1 });
  void home.parts.schedules.watch(stopping.signal);
  await home.pass(HOUR_MS);
  expect(await list()).toMatchObject({ schedules: [{ error: null }] });
  await home.connect("no-1");
  await home.pass(HOUR_MS);
  await home.pass(10_000);
  expect(await home.status()).toMatchObject({ connected: true, server: "no-1" });
  expect((await list()).schedules[0].error).toBe(
    "the main tunnel does not move: there is no other server in the city and the country of no-1",
  );
});
