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
  const { status, text } = await home.send("PUT", `/api/schedules/${name}`, body);
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

test.each<[string, string, ScheduleBody]>([
  ["rate", "a device", { device: TV, rate: { down: 5, up: 1 } }],
  ["rate", "everybody else", { shared_rate: { down: 5, up: 1 } }],
  ["quota", "a device", { device: TV, quota: { megabytes: 500, every: "day", at_end: "told" } }],
  ["quota", "everybody else", { shared_quota: { megabytes: 500, every: "day", at_end: "told" } }],
])("a schedule gives a %s to %s, or none, until a person or its removal ends it", async (kind, _, what) => {
  const listener = await listenTo(home.port);
  const isShared = what.device === undefined;
  const field = isShared ? `shared_${kind}` : kind;
  const path = isShared ? `/api/shared-${kind}` : `/api/devices/${TV}`;
  const value = what[field as "rate"] as object;
  const own = kind === "rate" ? { down: 20, up: null } : { megabytes: 900, every: "month", at_end: "told" };
  const given = async () => {
    const answer = (await home.send("GET", "/api/devices")).json;
    return isShared ? answer[field] : answer.devices[0]?.[field];
  };
  const giveOwn = () => home.send("PUT", path, { [kind]: own });
  const schedule: ScheduleBody = { ...what, at: timeIn(-1), until: timeIn(1) };
  await giveOwn();
  expect(await put("evening", schedule)).toEqual(SUCCESS);
  expect(await given()).toMatchObject(value);
  expect((await list()).schedules).toMatchObject([{ name: "evening", ...schedule, active: true }]);
  if (isShared) expect(await listener.stale(3)).toEqual(["/api/devices", "/api/networks", "/api/schedules"]);
  expect((await home.send("DELETE", "/api/schedules/evening")).text).toBe(SUCCESS.text);
  expect(await given()).toMatchObject(own);
  expect(await put("evening", { ...schedule, [field]: null })).toEqual(SUCCESS);
  expect(await given()).toBeUndefined();
  await giveOwn();
  expect([await given(), (await list()).schedules[0].active]).toMatchObject([own, false]);
});

test.each<[object, number, string]>([
  [{}, 400, "either tunnel, device, network, shared_rate or shared_quota is required"],
  [{ tunnel: "main", at: "04:00", days: ["monday"] }, 400, "days contains a value that is not valid"],
  [{ tunnel: "tv", at: "04:00" }, 404, "tunnel: there is no tunnel of this name"],
  [
    { device: TV, exit: "tv", at: "21:00", until: "07:00" },
    404,
    "exit: there is no such tunnel; the exits are main, blocked",
  ],
  [
    { tunnel: "main", time: "04:00" },
    400,
    "unknown field time: the known ones are tunnel, device, network, exit, rate, quota, shared_rate, shared_quota, at, until, every_hours, once, days",
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
    const [{ error, error_args: args }] = (await list()).schedules;
    // What says it in the reader's language.
    expect(args).toMatchObject({ what: expect.any(String) });
    const { events } = (await home.send("GET", "/api/events?limit=200")).json;
    expect(events.filter(({ code }: { code?: string }) => code === "schedule_failed")).toMatchObject([
      { message: `The schedule "often" failed: the main tunnel does not move: ${error}.` },
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
    "there is no other server in the city and the country of no-1",
  );
});
