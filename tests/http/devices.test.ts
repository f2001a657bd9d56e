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
  ["tv", { name: "x" }, 400, NO_ID],
  ["%2e%2e", { name: "x" }, 400, NO_ID],
  ["a%2fb", { name: "x" }, 400, NO_ID],
  ["192.168.7.0%2f25", { name: "x" }, 400, OVERLAP],
  ["10.0.0.0/8", { name: "x" }, 404, "not found: PUT /api/devices/10.0.0.0/8"],
  ["", { name: "x" }, 404, "not found: PUT /api/devices/"],
  [TV, { name: null }, 400, "name must be a non-empty string"],
  [TV, { exit: 1 }, 400, "exit must be a non-empty string, a list or null"],
  [
    "10.8.0.0%2F24",
    { rate: { down: 1, up: 1 } },
    400,
    "rate: is for single devices, not for a network behind another router",
  ],
])("PUT /api/devices/%s of %j is refused with %i", async (path, body, status, error) => {
  expect(outcome(await put(`/api/devices/${path}`, body))).toEqual([
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

test("a device has an order of exits, a rate and a quota until it is given null", async () => {
  const quota = { megabytes: 500, every: "day" };
  const [exit, rate] = [["main", "blocked"], { down: 20, up: null }];
  expect((await put(`/api/devices/${TV}`, { exit, rate, quota })).status).toBe(200);
  home.host.useQuotas(1_234);
  const given = {
    ...{ id: TV, exit: "blocked", exit_order: exit, rate },
    quota: { ...quota, at_end: "blocked", used_bytes: 1_234 },
  };
  expect((await list()).devices).toMatchObject([given]);
  expect((await home.status()).limited_devices).toBe(1);
  // What is refused opens nothing, not for a moment either: nothing of it was run.
  const { length } = home.host.commands;
  expect((await put(`/api/devices/${TV}`, { rate: null, quota: null, exit: "nowhere" })).status).toBe(404);
  expect(home.host.commands.slice(length)).toEqual([]);
  expect((await put(`/api/devices/${TV}`, { exit: null, rate: null, quota: null })).status).toBe(200);
  expect(await list()).toMatchObject({ devices: [] });
  expect(await home.status()).not.toHaveProperty("limited_devices");
});

test.each([
  [
    `devices/${TV}`,
    "blocked",
    `${TV} has used its quota of 3 MB a month, and is blocked until the end of the month.`,
  ],
  [
    `devices/${TV}`,
    { down: 1, up: 1 },
    `${TV} has used its quota of 3 MB a month, and is limited to 1 Mbit/s each way until the end of the month.`,
  ],
  [`devices/${TV}`, "told", `${TV} has used its quota of 3 MB a month.`],
  [
    "shared-quota",
    { down: 1, up: null },
    "The devices without a quota of their own have used their quota of 3 MB a month, and are limited to 1 Mbit/s down together until the end of the month.",
  ],
])("the end of a quota of %s is told with what it does: %j", async (path, at_end, message) => {
  expect((await put(`/api/${path}`, { quota: { megabytes: 3, every: "month", at_end } })).status).toBe(200);
  home.host.useQuotas(3_000_000);
  await list();
  const { events } = (await home.send("GET", "/api/events")).json;
  expect(events).toContainEqual(expect.objectContaining({ code: "quota_used", message }));
});

test.each([
  ["networks/lan0", { type: "device_update", payload: expect.objectContaining({ id: TV }) }],
  ["shared-quota", { type: "settings_update", payload: { changed: "settings" } }],
])("open pages are told that a quota of %s begins again", async (path, message) => {
  await hear(TV, "192.168.7.20");
  expect((await put(`/api/${path}`, { quota: { megabytes: 3, every: "day" } })).status).toBe(200);
  home.host.useQuotas(3_000_000);
  await list();
  await home.pass(1_000);
  const listener = await listenTo(home.port);
  home.host.setClock(home.host.now() + 86_400_000 - home.host.monotonic());
  // A change looks at all quotas.
  expect((await put(`/api/devices/${PHONE}`, { rate: { down: 1, up: 1 } })).status).toBe(200);
  await home.pass(1_000);
  expect(await listener.received(2)).toContainEqual(message);
  listener.destroy();
});

test.each([
  ["rate", { down: 50, up: null }, { down: null, up: null }],
  ["quota", { megabytes: 3, every: "month", at_end: "told" }, { megabytes: 0, every: "month" }],
])("devices without a %s share one until it is null, and open pages are told", async (kind, value, wrong) => {
  const listener = await listenTo(home.port);
  const [path, field] = [`/api/shared-${kind}`, `shared_${kind}`];
  expect((await put(path, { [kind]: value })).status).toBe(200);
  expect((await list())[field]).toMatchObject(value);
  expect((await put(path, { [kind]: wrong })).text).toContain(kind);
  expect((await put(path, {})).status).toBe(400);
  expect((await list())[field]).toMatchObject(value);
  expect((await put(path, { [kind]: null })).status).toBe(200);
  expect(await list()).not.toHaveProperty(field);
  expect(await listener.received(2)).toContainEqual({
    type: "settings_update",
    payload: { changed: "settings" },
  });
  expect(await listener.stale(2)).toEqual(["/api/devices", "/api/networks", "/api/schedules"]);
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

test("PUT /api/default-exit needs an exit", async () => {
  expect(outcome(await put("/api/default-exit", {}))).toEqual([
    400,
    JSON.stringify({ success: false, error: "exit is required" }),
  ]);
});
