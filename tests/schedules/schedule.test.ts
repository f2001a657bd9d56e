import { expect, test } from "bun:test";
import type { Quota } from "../../src/devices/values.ts";
import { bodyOf, SCHEDULES, scheduleIn } from "../../src/schedules/schedule.ts";
import type { ScheduleBody } from "../../src/schedules/schema.ts";

const TV = "02:00:00:00:00:20";
const NIGHT: ScheduleBody = { device: TV, exit: "blocked", at: "21:00", until: "07:00" };
const TIMES = { at: "21:00", until: "07:00" };
const QUOTA: Quota = { megabytes: 500, every: "day", at_end: { down: 1, up: null } };
const SHARED: ScheduleBody = { shared_rate: { down: 50, up: 10 }, at: "21:00", until: "07:00" };
const RATED: ScheduleBody = { device: TV, rate: { down: 5, up: null }, at: "21:00", until: "07:00" };

test.each<[string, ScheduleBody]>([
  ["a move at a time of day", { tunnel: "main", at: "04:00" }],
  ["a move on some days", { tunnel: "tv", at: "04:00", days: ["mon", "sun"] }],
  ["a move every so often", { tunnel: "main", every_hours: 6 }],
  ["an exit", { ...NIGHT, days: ["mon"] }],
  ["an exit of a prefix", { ...NIGHT, device: "10.8.0.0/24" }],
  ["a rate", { ...RATED, days: ["mon"] }],
  ["no rate", { ...RATED, rate: null }],
  ["a rate of a remote device", { ...RATED, device: "10.200.7.2/32" }],
  ["a shared rate", { ...SHARED, days: ["mon"] }],
  ["no shared rate", { ...SHARED, shared_rate: null }],
  ["a quota", { ...TIMES, device: TV, quota: QUOTA }],
  ["no quota", { ...TIMES, device: TV, quota: null }],
  ["a shared quota", { ...TIMES, shared_quota: QUOTA }],
  ["no shared quota", { ...TIMES, shared_quota: null }],
])("%s is kept as it was described", (_, body) => {
  expect<object>(bodyOf(scheduleIn("one", body))).toEqual(body);
});

test("ids and days are kept in one spelling", () => {
  const body: ScheduleBody = { ...NIGHT, device: "02-00-00-00-00-20", days: ["sun", "mon"] };
  expect<object>(bodyOf(scheduleIn("one", body))).toEqual({ ...NIGHT, days: ["mon", "sun"] });
});

test.each<[ScheduleBody, string]>([
  [{}, "either tunnel, device, network, shared_rate or shared_quota is required"],
  [{ ...NIGHT, tunnel: "main" }, "either tunnel, device, network, shared_rate or shared_quota is required"],
  [{ ...SHARED, device: TV }, "either tunnel, device, network, shared_rate or shared_quota is required"],
  [
    { ...SHARED, shared_rate: null, tunnel: "main" },
    "either tunnel, device, network, shared_rate or shared_quota is required",
  ],
  [{ tunnel: "Main", at: "04:00" }, "tunnel: must have 1 to 32 of the characters a-z, 0-9 and -"],
  [{ tunnel: "main" }, "either at, with days if you like, or every_hours is required"],
  [
    { tunnel: "main", at: "04:00", every_hours: 6 },
    "either at, with days if you like, or every_hours is required",
  ],
  [
    { tunnel: "main", every_hours: 6, days: ["mon"] },
    "either at, with days if you like, or every_hours is required",
  ],
  [{ tunnel: "main", at: "04:00", exit: "blocked" }, "exit, rate, quota and until are not for a tunnel"],
  [{ tunnel: "main", at: "04:00", until: "05:00" }, "exit, rate, quota and until are not for a tunnel"],
  [{ tunnel: "main", at: "04:00", rate: null }, "exit, rate, quota and until are not for a tunnel"],
  [{ ...SHARED, exit: "blocked" }, "exit, rate and quota are for a device"],
  [{ ...SHARED, rate: null }, "exit, rate and quota are for a device"],
  [{ ...TIMES, shared_quota: null, quota: null }, "exit, rate and quota are for a device"],
  [
    { ...TIMES, shared_quota: null, shared_rate: null },
    "either tunnel, device, network, shared_rate or shared_quota is required",
  ],
  [{ shared_quota: null, until: "21:00" }, "at and until are required for shared_quota"],
  [
    { ...TIMES, device: "10.8.0.0/24", quota: null },
    "quota: is for single devices, not for a network behind another router",
  ],
  [
    { ...TIMES, device: TV, quota: { ...QUOTA, at_end: { down: null, up: null } } },
    "quota: at_end: down or up is required; told for no limit",
  ],
  [
    { ...TIMES, shared_quota: { ...QUOTA, at_end: { down: null, up: null } } },
    "shared_quota: at_end: down or up is required; told for no limit",
  ],
  [{ ...SHARED, every_hours: 6 }, "every_hours is for a tunnel"],
  [{ shared_rate: null, at: "21:00" }, "at and until are required for shared_rate"],
  [
    { ...SHARED, shared_rate: { down: null, up: null } },
    "shared_rate: down or up is required; null for no limit",
  ],
  [{ device: TV, at: "21:00", until: "07:00" }, "either exit, rate or quota is required for a device"],
  [{ ...NIGHT, rate: null }, "either exit, rate or quota is required for a device"],
  [{ device: TV, exit: "blocked", at: "21:00" }, "at and until are required for a device"],
  [{ ...RATED, rate: { down: null, up: null } }, "rate: down or up is required; null for no limit"],
  [
    { ...RATED, device: "10.8.0.0/24", rate: null },
    "rate: is for single devices, not for a network behind another router",
  ],
  [{ ...NIGHT, every_hours: 6 }, "every_hours is for a tunnel"],
  [
    { ...NIGHT, exit: "direct" },
    "exit: direct cannot be scheduled, because it leads outside the tunnel; set it by hand",
  ],
  [{ ...NIGHT, exit: "Main Street" }, "exit: must be the name of a tunnel, or blocked"],
  [{ ...NIGHT, at: "24:00" }, "at: must be a time of 24 hours, such as 21:00 or 07:30"],
  [{ ...NIGHT, until: "7:00" }, "until: must be a time of 24 hours, such as 21:00 or 07:30"],
  [{ ...NIGHT, until: "21:00" }, "until: must differ from at"],
  [
    { ...NIGHT, device: "TV" },
    "device: must be a MAC address, such as 02:00:00:00:00:20, or a prefix behind another router of the LAN, such as 10.8.0.0/24",
  ],
])("%j is refused: %s", (body, error) => {
  expect(() => scheduleIn("one", body)).toThrow(error);
});

test("what is saved is read again, and what is not valid is left out", () => {
  const saved = [
    { name: "a", ...NIGHT },
    { name: "b", tunnel: "main", at: "25:00" },
    { name: "c", tunnel: "main" },
    { name: "d/", tunnel: "main", every_hours: 6 },
    { name: "e", tunnel: "main", every_hours: 6 },
  ];
  expect(SCHEDULES.parse(JSON.stringify(saved)).map(({ name }) => name)).toEqual(["a", "e"]);
  for (const text of [null, "", "{", "{}", "[null]"]) expect(SCHEDULES.parse(text)).toEqual([]);
});

test.each<[ScheduleBody, string]>([
  [NIGHT, `${TV} to blocked`],
  [RATED, `limit of ${TV} (5 Mbit/s down)`],
  [{ ...TIMES, device: TV, quota: QUOTA }, `quota of ${TV} (500 MB a day, then 1 Mbit/s down)`],
  [SHARED, "shared limit (50 Mbit/s down, 10 Mbit/s up)"],
  [{ ...TIMES, shared_quota: null }, "shared quota (none)"],
])("before a restore, %j is told as %s", (body, words) => {
  const [change] = SCHEDULES.changes(null, JSON.stringify([{ name: "one", ...body }]));
  expect(change?.after).toBe(`${words} from 21:00 until 07:00`);
});

test("a backup has only what the gateway could have written, and its schedules replace those of their name", () => {
  const text = (...names: string[]) =>
    JSON.stringify(names.map((name) => ({ name, tunnel: "main", every_hours: 6 })));
  expect(SCHEDULES.isValid(text("a", "b"))).toBe(true);
  expect(SCHEDULES.isValid(text("b", "a"))).toBe(false);
  expect(SCHEDULES.isValid(text("a", "a"))).toBe(false);
  expect(SCHEDULES.isValid("")).toBe(false);
  const here = JSON.stringify([
    { name: "a", tunnel: "main", every_hours: 1 },
    { name: "c", tunnel: "main", every_hours: 1 },
  ]);
  expect(JSON.parse(SCHEDULES.merge(here, text("a", "b")))).toEqual([
    { name: "a", tunnel: "main", every_hours: 6 },
    { name: "b", tunnel: "main", every_hours: 6 },
    { name: "c", tunnel: "main", every_hours: 1 },
  ]);
  expect(SCHEDULES.merge(null, text("a"))).toBe(text("a"));
  const many = Array.from({ length: SCHEDULES.max }, (_, index) => `n${index}`);
  const united = SCHEDULES.parse(SCHEDULES.merge(text(...many), text("a", "n1")));
  expect(united).toHaveLength(SCHEDULES.max);
  expect(united.some(({ name }) => name === "a")).toBe(true);
});
