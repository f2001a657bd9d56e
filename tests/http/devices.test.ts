import { afterEach, beforeEach, expect } from "bun:test";
import type { Mac } from "../../src/base/mac.ts";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";
import { listenTo } from "./socket.ts";

const { test } = slow;

const TV = "02:00:00:00:00:20" as Mac;
const PHONE = "02:00:00:00:00:30" as Mac;

let home: Home;
beforeEach(async () => {
  home = await Home.start();
});
afterEach(() => home.stop());

const put = (path: string, body: object) => home.send("PUT", path, body);
const outcome = ({ status, text }: { status: number; text: string }) => [status, text];
const list = async () => (await home.send("GET", "/api/devices")).json;

/** A packet of the device arrives. */
async function hear(mac: Mac, address: string): Promise<void> {
  home.hear(mac, address);
  await home.pass(1_000);
}

test("GET /api/devices answers the devices of the LAN", async () => {
  expect(await list()).toEqual({
    devices: [],
    default_exit: "main",
    exits: ["main", "blocked"],
    direct_allowed: false,
  });
  await hear(TV, "192.168.7.20");
  const seen = { addresses: ["192.168.7.20"], online: true, seen_at: "2023-11-14T22:13:21.250Z" };
  expect((await list()).devices).toMatchObject([{ id: TV, named: false, assigned: false, ...seen }]);
});

test("PUT /api/devices/{id} names a device, also one that was never seen; DELETE forgets the name", async () => {
  expect(outcome(await put("/api/devices/02-00-00-00-00-20", { name: 'TV "<b>"' }))).toEqual([
    200,
    '{"success":true}',
  ]);
  expect((await list()).devices).toMatchObject([{ id: TV, name: 'TV "<b>"', online: false, seen_at: null }]);
  expect(outcome(await home.send("DELETE", `/api/devices/${TV}`))).toEqual([200, '{"success":true}']);
  expect((await list()).devices).toEqual([]);
  expect(outcome(await home.send("DELETE", `/api/devices/${TV}`))).toEqual([
    404,
    '{"success":false,"error":"id: there is no such device"}',
  ]);
});

const NO_ID =
  "id: must be a MAC address, such as 02:00:00:00:00:20, or a prefix behind another router of the LAN, such as 10.8.0.0/24";
const OVERLAP =
  "id: 192.168.7.0/25 overlaps the LAN's own 192.168.7.0/24 on lan0; a prefix is for what is behind another router of the LAN";

test.each([
  ["tv", 400, NO_ID],
  ["10.0.0.0/8", 404, "not found: PUT /api/devices/10.0.0.0/8"],
  ["192.168.7.0%2f25", 400, OVERLAP],
  ["192.168.7.9", 400, OVERLAP.replace("7.0/25", "7.9/32")],
  ["..", 400, NO_ID],
  ["%2e%2e", 400, NO_ID],
  ["%00", 400, NO_ID],
  ["a%2fb", 400, NO_ID],
  ["..%2f..", 400, NO_ID],
  ["__proto__", 400, NO_ID],
  ["", 404, "not found: PUT /api/devices/"],
])("PUT /api/devices/%s is refused with %i", async (path, status, error) => {
  expect(outcome(await put(`/api/devices/${path}`, { name: "x" }))).toEqual([
    status,
    JSON.stringify({ success: false, error }),
  ]);
});

test("PUT and DELETE take a prefix with an encoded slash, or an address alone", async () => {
  expect((await put("/api/devices/10.8.0.0%2F24", { name: "office" })).status).toBe(200);
  expect((await put("/api/devices/FD08::5", { exit: "blocked" })).status).toBe(200);
  expect((await list()).devices).toMatchObject([
    { id: "10.8.0.0/24", name: "office", exit: "main", assigned: false, online: false },
    { id: "fd08::5/128", name: "", exit: "blocked", assigned: true, online: false },
  ]);
  expect((await home.send("DELETE", "/api/devices/10.8.0.0%2F24")).status).toBe(200);
  expect((await list()).devices).toHaveLength(1);
});

test("an exit of null is the default exit again, and the name stays", async () => {
  await put(`/api/devices/${TV}`, { name: "TV", exit: "blocked" });
  expect((await put(`/api/devices/${TV}`, { exit: null })).status).toBe(200);
  expect((await list()).devices).toMatchObject([
    { id: TV, name: "TV", named: true, exit: "main", assigned: false },
  ]);
  expect((await put(`/api/devices/${TV}`, { exit: 1 })).text).toContain(
    "exit must be a non-empty string, a list or null",
  );
});

test("a device has a rate while it is given one, and what is wrong with it is named", async () => {
  expect((await put(`/api/devices/${TV}`, { rate: { down: 20, up: null } })).status).toBe(200);
  expect((await list()).devices).toMatchObject([{ id: TV, rate: { down: 20, up: null } }]);
  expect((await home.status()).limited_devices).toBe(1);
  expect((await put(`/api/devices/${TV}`, { rate: { down: 0.5, up: 0.1 }, name: "TV" })).status).toBe(200);
  for (const rate of [{ down: null, up: null }, { down: 20 }, "20"]) {
    const { status, text } = await put(`/api/devices/${TV}`, { rate });
    expect([status, text]).toEqual([400, expect.stringContaining("rate")]);
  }
  expect((await put("/api/devices/10.8.0.0%2F24", { rate: { down: 1, up: 1 } })).text).toContain(
    "rate: is for single devices, not for a network behind another router",
  );
  // The exit does not exist.
  expect((await put(`/api/devices/${TV}`, { rate: { down: 1, up: 1 }, exit: "nowhere" })).status).toBe(404);
  expect((await list()).devices).toMatchObject([{ id: TV, name: "TV", rate: { down: 0.5, up: 0.1 } }]);
  // What is refused opens nothing, not for a moment either: nothing of it was run.
  const { length } = home.host.commands;
  expect((await put(`/api/devices/${TV}`, { rate: null, exit: "nowhere" })).status).toBe(404);
  expect(home.host.commands.slice(length)).toEqual([]);
  expect((await put(`/api/devices/${TV}`, { rate: null })).status).toBe(200);
  expect((await list()).devices[0]).not.toHaveProperty("rate");
  expect(await home.status()).not.toHaveProperty("limited_devices");
});

test("a device has a quota while it is given one, and what is wrong with it is named", async () => {
  const quota = { megabytes: 500, every: "day" };
  expect((await put(`/api/devices/${TV}`, { quota })).status).toBe(200);
  home.host.useQuotas(1_234);
  expect((await list()).devices).toMatchObject([
    { id: TV, quota: { ...quota, at_end: "blocked", used_bytes: 1_234 } },
  ]);
  expect(await home.status()).not.toHaveProperty("limited_devices");
  for (const wrong of [{ ...quota, at_end: { down: null, up: null } }, { megabytes: 1 }, "1"]) {
    const { status, text } = await put(`/api/devices/${TV}`, { quota: wrong });
    expect([status, text]).toEqual([400, expect.stringContaining("quota")]);
  }
  expect((await put("/api/devices/10.8.0.0%2F24", { quota })).text).toContain(
    "quota: is for single devices, not for a network behind another router",
  );
  expect((await put(`/api/devices/${TV}`, { quota: null, exit: "nowhere" })).status).toBe(404);
  home.host.useQuotas(500_000_000);
  await list();
  const { events } = (await home.send("GET", "/api/events")).json;
  expect(events).toContainEqual(
    expect.objectContaining({
      code: "quota_used",
      message: `${TV} has used its quota of 500 MB a day, and is blocked until midnight.`,
    }),
  );
  expect((await home.send("DELETE", `/api/devices/${TV}`)).status).toBe(200);
  expect(home.host.limitsTable).toBeNull();
});

test.each([
  [{ down: 1, up: 1 }, ", and is limited to 1 Mbit/s each way until the end of the month."],
  ["told", "."],
])("the end of a quota is told with what it does: %p", async (at_end, then) => {
  const quota = { megabytes: 3, every: "month", at_end };
  expect((await put(`/api/devices/${TV}`, { quota })).status).toBe(200);
  home.host.useQuotas(3_000_000);
  expect((await list()).devices).toMatchObject([{ id: TV, quota: { ...quota, used_bytes: 3_000_000 } }]);
  await list();
  const { events } = (await home.send("GET", "/api/events")).json;
  const told = events.filter(({ code }: { code?: string }) => code === "quota_used");
  expect(told.map(({ message }: { message: string }) => message)).toContain(
    `${TV} has used its quota of 3 MB a month${then}`,
  );
  expect((await home.send("DELETE", `/api/devices/${TV}`)).status).toBe(200);
});

test("devices without a rate share one, and open pages are told", async () => {
  const listener = await listenTo(home.port);
  expect((await put("/api/shared-rate", { rate: { down: 50, up: null } })).status).toBe(200);
  expect((await list()).shared_rate).toEqual({ down: 50, up: null });
  expect((await put("/api/shared-rate", { rate: { down: null, up: null } })).text).toContain("rate: ");
  expect((await put("/api/shared-rate", {})).status).toBe(400);
  expect((await list()).shared_rate).toEqual({ down: 50, up: null });
  expect((await put("/api/shared-rate", { rate: null })).status).toBe(200);
  expect(await list()).not.toHaveProperty("shared_rate");
  expect(await listener.received(2)).toContainEqual({
    type: "settings_update",
    payload: { changed: "settings" },
  });
  expect(await listener.stale(2)).toEqual(["/api/devices", "/api/networks", "/api/schedules"]);
});

test("devices without a quota share one, and open pages are told", async () => {
  const listener = await listenTo(home.port);
  const quota = { megabytes: 3, every: "month", at_end: { down: 1, up: null } };
  expect((await put("/api/shared-quota", { quota })).status).toBe(200);
  home.host.useQuotas(1_234);
  expect((await list()).shared_quota).toEqual({ ...quota, used_bytes: 1_234 });
  expect((await list()).devices.map(({ quota: own }: { quota?: unknown }) => own)).toEqual([undefined]);
  expect((await put("/api/shared-quota", { quota: { ...quota, megabytes: 0 } })).text).toContain("quota");
  expect((await put("/api/shared-quota", {})).status).toBe(400);
  expect((await put("/api/devices/others", { quota })).status).toBe(400);
  home.host.useQuotas(3_000_000);
  expect((await list()).shared_quota).toEqual({ ...quota, used_bytes: 3_000_000 });
  const { events } = JSON.parse((await home.send("GET", "/api/events")).text);
  expect(events.at(-1)).toMatchObject({
    code: "quota_used",
    message:
      "The devices without a quota of their own have used their quota of 3 MB a month, and are limited to 1 Mbit/s down together until the end of the month.",
  });
  expect((await put("/api/shared-quota", { quota: null })).status).toBe(200);
  expect(await list()).not.toHaveProperty("shared_quota");
  expect(await listener.received(2)).toContainEqual({
    type: "settings_update",
    payload: { changed: "settings" },
  });
});

test.each([
  [{}, 400, "name, exit, address, rate, quota, icon or group is required"],
  [{ group: "" }, 400, "group must be a non-empty string or null"],
  [{ group: " Ana" }, 400, "group: begins or ends with white space"],
  [{ name: "" }, 400, "name must be a non-empty string"],
  [{ name: null }, 400, "name must be a non-empty string"],
  [{ name: "x".repeat(65) }, 400, "name: must have 1 to 64 characters"],
  [[], 400, "body must be a JSON object"],
])("PUT of %j is refused", async (body, status, error) => {
  expect(outcome(await put(`/api/devices/${TV}`, body))).toEqual([
    status,
    JSON.stringify({ success: false, error }),
  ]);
});

test("PUT of the exit direct is refused until the operator allows it; then it is listed and counted", async () => {
  expect(outcome(await put(`/api/devices/${TV}`, { exit: "direct" }))).toEqual([
    403,
    JSON.stringify({
      success: false,
      error:
        "exit: no device may leave directly, outside the tunnel; to allow it, type on the gateway: sudo portcullis direct on",
    }),
  ]);
  await home.parts.devices.setDirect(true);
  expect(await list()).toMatchObject({ exits: ["main", "blocked", "direct"], direct_allowed: true });
  expect(outcome(await put(`/api/devices/${TV}`, { exit: "direct" }))).toEqual([200, '{"success":true}']);
  expect((await list()).devices).toMatchObject([{ id: TV, exit: "direct", assigned: true }]);
  expect((await home.send("GET", "/api/status")).json).toMatchObject({ direct_devices: 1 });
  await home.parts.devices.setDirect(false);
  expect(await list()).toMatchObject({ devices: [], exits: ["main", "blocked"], direct_allowed: false });
});

test("PUT of several exits in order, and what is wrong with a list is named", async () => {
  expect(outcome(await put(`/api/devices/${TV}`, { exit: ["main", "blocked"] }))).toEqual([
    200,
    '{"success":true}',
  ]);
  const order = { id: TV, exit: "blocked", exit_order: ["main", "blocked"], assigned: true };
  expect((await list()).devices).toMatchObject([order]);
  for (const [exit, status, error] of [
    [["main", "main"], 400, 'exit: "main" is in the list twice'],
    [["main", 1], 400, "exit"],
    [["main", "oslo"], 404, "exit: there is no such tunnel"],
  ] as const) {
    const refused = await put(`/api/devices/${TV}`, { exit });
    expect([refused.status, refused.json.error]).toEqual([status, expect.stringContaining(error)]);
  }
  expect((await list()).devices).toMatchObject([order]);
});

test("a device with several exits leaves by a tunnel from its first handshake until it is disconnected", async () => {
  await put(`/api/devices/${TV}`, { exit: ["main", "blocked"] });
  const exit = async () => (await list()).devices[0].exit;
  expect((await home.send("POST", "/api/connect", '{"server":"se-1"}')).status).toBe(200);
  expect(await exit()).toBe("main");
  expect((await home.send("POST", "/api/disconnect")).status).toBe(200);
  expect(await exit()).toBe("blocked");
});

test("the default exit is announced in a home without devices, too, and one that is given again is not", async () => {
  const listener = await listenTo(home.port);
  expect((await put("/api/default-exit", { exit: "blocked" })).status).toBe(200);
  expect(await listener.stale(2)).toEqual(["/api/devices", "/api/networks", "/api/schedules"]);
  expect((await put("/api/default-exit", { exit: "blocked" })).status).toBe(200);
  home.parts.events.publish({ type: "tunnel_removed", payload: { name: "tv" } });
  expect((await listener.received(3))[2]).toMatchObject({ type: "tunnel_removed" });
  listener.destroy();
});

test("PUT of an exit, and of the default exit", async () => {
  await hear(PHONE, "192.168.7.30");
  expect(outcome(await put(`/api/devices/${TV}`, { exit: "blocked" }))).toEqual([200, '{"success":true}']);
  expect(outcome(await put("/api/default-exit", { exit: "blocked" }))).toEqual([200, '{"success":true}']);
  expect((await list()).devices).toMatchObject([
    { id: TV, exit: "blocked", assigned: true },
    { id: PHONE, exit: "blocked", assigned: false },
  ]);
  expect((await home.send("DELETE", `/api/devices/${TV}`)).status).toBe(200);
  expect((await put("/api/default-exit", { exit: "main" })).status).toBe(200);
  expect(await list()).toMatchObject({ devices: [{ id: PHONE, exit: "main" }], default_exit: "main" });
});

test.each([
  [{ exit: "oslo" }, 404, "exit: there is no such tunnel; the exits are main, blocked"],
  [
    { exit: "direct" },
    400,
    "exit: direct cannot be the default exit, because every new device would leave outside the tunnel; give it to single devices",
  ],
  [{}, 400, "exit is required"],
  [{ exit: "" }, 400, "exit must be a non-empty string"],
  [{ exit: "main", name: "x" }, 400, "unknown field name: the known ones are exit"],
])("PUT /api/default-exit of %j is refused", async (body, status, error) => {
  expect(outcome(await put("/api/default-exit", body))).toEqual([
    status,
    JSON.stringify({ success: false, error }),
  ]);
});

test("changes of devices count as connection requests, reading them does not", async () => {
  const limitOf = async (method: string, path: string, body?: string) =>
    (await home.send(method, path, body)).headers.get("x-ratelimit-limit");
  expect(await limitOf("PUT", `/api/devices/${TV}`, '{"name":"TV"}')).toBe("5");
  expect(await limitOf("DELETE", `/api/devices/${TV}`)).toBe("5");
  expect(await limitOf("GET", "/api/devices")).toBe("10");
});

test("listeners hear of a device that comes, and of its name", async () => {
  const listener = await listenTo(home.port);
  await listener.received(1);
  await hear(TV, "192.168.7.20");
  await put(`/api/devices/${TV}`, { name: "TV" });
  await home.pass(1_000);
  const [, came, counted, named] = await listener.received(4);
  const payload = { id: TV, name: "", exit: "main", online: true };
  expect(came).toEqual({ type: "device_update", payload });
  expect(counted).toMatchObject({ type: "tunnel_update", payload: { name: "main", devices: 1 } });
  expect(named).toEqual({ type: "device_update", payload: { ...payload, name: "TV" } });
});

test("the metrics count the known devices by exit", async () => {
  await hear(TV, "192.168.7.20");
  expect(
    (await home.send("GET", "/metrics")).text,
  ).toContain(`# HELP portcullis_devices Known devices by exit, those away from home included.
# TYPE portcullis_devices gauge
portcullis_devices{exit="main"} 1
portcullis_devices{exit="blocked"} 0
`);
});
