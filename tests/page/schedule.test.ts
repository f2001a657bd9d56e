import { expect, test } from "bun:test";
import { faultIn } from "../../src/dashboard/fault.ts";
import { bytesOf, timeOfDay } from "../../src/dashboard/format.ts";
import {
  daysOf,
  givenExits,
  momentOf,
  type Phase,
  phaseOf,
  type Schedule,
  sentenceFor,
} from "../../src/dashboard/schedule.ts";
import {
  bodyOf,
  type Draft,
  draftOf,
  FIELD_NAMES,
  lackOf,
} from "../../src/dashboard/views/schedules/draft.ts";
import type { Device } from "../../src/devices/schema.ts";
import { scheduleIn } from "../../src/schedules/schedule.ts";
import { DAYS, type Day } from "../../src/schedules/schema.ts";

const TV = "02:00:00:00:00:20";
const DEVICES = [{ id: TV, name: "TV", addresses: [] as string[] }] as Device[];
const BERLIN = "Europe/Berlin";
/** A Sunday; Berlin's clock is an hour ahead. */
const NOW = Date.parse("2026-11-22T19:30:00Z");
const FILM: Schedule = {
  ...{ name: "film", device: TV, exit: "amsterdam", at: "20:00", until: "23:00" },
  ...{ active: false, next_at: "2026-11-23T19:00:00Z", error: null },
};
const MOVE: Schedule = {
  ...{ name: "move", tunnel: "main", every_hours: 6 },
  ...{ active: false, next_at: "2026-11-22T20:00:00Z", error: null },
};
const { exit: _, device: __, ...TIMES } = FILM;
const SHARED: Schedule = { ...TIMES, name: "guests", shared_rate: { down: 50, up: 50 } };
const QUOTA = { megabytes: 1_000, every: "day", at_end: { down: 1, up: null } } as const;
const { shared_rate: ___, ...GUESTS } = SHARED;
const [EIGHT, ELEVEN] = [timeOfDay("20:00"), timeOfDay("23:00")];

test.each<[Schedule, string]>([
  [FILM, `TV goes through amsterdam from ${EIGHT} to ${ELEVEN} each day.`],
  [
    { ...FILM, exit: "blocked", at: "23:00", until: "20:00", days: ["sun", "mon", "tue"] },
    `TV is blocked from ${ELEVEN} to ${EIGHT} the next day, Sunday to Tuesday.`,
  ],
  [
    { ...FILM, device: "10.8.0.0/24" },
    `10.8.0.0/24 goes through amsterdam from ${EIGHT} to ${ELEVEN} each day.`,
  ],
  [SHARED, `All others together have at most 50 Mbit/s each way from ${EIGHT} to ${ELEVEN} each day.`],
  [
    { ...TIMES, device: TV, quota: QUOTA },
    `TV may use this from ${EIGHT} to ${ELEVEN} each day: ${bytesOf(1e9)} a day, then 1 Mbit/s down.`,
  ],
  [
    { ...GUESTS, shared_quota: { megabytes: 500, every: "month" } },
    `All others together may use this from ${EIGHT} to ${ELEVEN} each day: ${bytesOf(5e8)} a month, then blocked.`,
  ],
  [{ ...TIMES, device: TV, quota: null }, `TV has no quota of its own from ${EIGHT} to ${ELEVEN} each day.`],
  [{ ...GUESTS, shared_quota: null }, `All others have no quota from ${EIGHT} to ${ELEVEN} each day.`],
  [{ ...SHARED, shared_rate: null }, `All others have no limit from ${EIGHT} to ${ELEVEN} each day.`],
  [MOVE, "The main tunnel moves to another server of its place every 6 hours."],
  [{ ...MOVE, every_hours: 1 }, "The main tunnel moves to another server of its place every hour."],
])("a schedule reads as a sentence (%#)", (schedule, text) => {
  expect(sentenceFor(schedule, DEVICES)).toBe(text);
});

test.each<[Day[] | undefined, string]>([
  [undefined, "each day"],
  [[...DAYS], "each day"],
  [["mon"], "on Monday"],
  [["sat", "sun"], "on Saturday and Sunday"],
  [["mon", "sun"], "on Monday and Sunday"],
  [["mon", "tue", "wed", "thu", "fri"], "Monday to Friday"],
  [["mon", "fri", "sat", "sun"], "Friday to Monday"],
  [["mon", "wed", "sun"], "on Monday, Wednesday and Sunday"],
])("days %j are read as %s", (days, text) => {
  expect(daysOf(days)).toBe(text);
});

test.each<[string, string]>([
  ["2026-11-22T22:59:00Z", `today at ${timeOfDay("23:59")}`],
  ["2026-11-22T23:00:00Z", `tomorrow at ${timeOfDay("00:00")}`],
  ["2026-11-24T19:00:00Z", `on Tuesday at ${EIGHT}`],
  ["2026-11-28T19:00:00Z", `on Saturday at ${EIGHT}`],
  ["2026-11-29T19:00:00Z", `on ${dateOf(29)} at ${EIGHT}`],
])("%s is %s on the gateway's clock, wherever the browser is", (next, text) => {
  expect(momentOf(next, BERLIN, NOW)).toBe(text);
});

function dateOf(day: number): string {
  return new Intl.DateTimeFormat(undefined, { day: "numeric", month: "long" }).format(
    new Date(2026, 10, day),
  );
}

test("a zone that the browser does not know is that of the browser", () => {
  expect(momentOf("2026-11-22T22:59:00Z", "Mars/Olympus", NOW)).toContain(" at ");
});

test.each<[Partial<Schedule>, Phase]>([
  [{ active: true, next_at: "2026-11-22T22:00:00Z" }, "active"],
  [{ next_at: "2026-11-22T22:00:00Z" }, "overruled"],
  [{}, "waiting"],
])("%j is %s", (change, phase) => {
  expect(phaseOf({ ...FILM, ...change }, BERLIN, NOW)).toBe(phase);
});

test("a move whose time has passed waits for its tunnel", () => {
  expect(phaseOf(MOVE, BERLIN, NOW)).toBe("waiting");
  expect(phaseOf(MOVE, BERLIN, Date.parse(MOVE.next_at))).toBe("overdue");
});

test("what a form makes of a schedule is the same schedule", () => {
  const days: Day[] = ["sat", "sun"];
  const { every_hours, ...daily } = MOVE;
  const limits = [
    { ...TIMES, device: TV, rate: { down: 5, up: null } },
    { ...TIMES, device: TV, quota: QUOTA },
    { ...TIMES, device: TV, quota: null },
    SHARED,
    { ...SHARED, shared_rate: null },
    { ...GUESTS, shared_quota: QUOTA },
    { ...GUESTS, shared_quota: null },
  ];
  for (const schedule of [FILM, { ...FILM, days }, ...limits, MOVE, { ...daily, at: "04:00", days }]) {
    const { name, active, next_at, error, ...body } = schedule;
    expect(bodyOf(draftOf(schedule, "other", "blocked"))).toEqual(body);
  }
});

const NEW: Draft = { ...draftOf(null, TV, "main"), name: " film ", at: "20:00", until: "23:00" };

test("a new schedule begins with the first device, or with a move if there is none", () => {
  expect(bodyOf(NEW)).toEqual({ device: TV, exit: "main", at: "20:00", until: "23:00" });
  expect(bodyOf({ ...draftOf(null, "", "main"), at: "04:00" })).toEqual({ tunnel: "main", at: "04:00" });
});

test.each<[Partial<Draft>, { field: string; text: string } | null]>([
  [{}, null],
  [{ name: " " }, { field: "name", text: "It is required." }],
  [{ name: "a/b" }, { field: "name", text: "It cannot be part of an address; leave out slashes." }],
  [{ name: ".." }, { field: "name", text: "It cannot be part of an address; leave out slashes." }],
  [{ name: "night" }, { field: "name", text: "Another schedule has it already; choose another one." }],
  [{ at: "" }, { field: "at", text: "It is required." }],
  [{ until: "" }, { field: "until", text: "It is required." }],
  [{ until: "20:00" }, { field: "until", text: "It must differ from the first time." }],
  [{ days: [] }, { field: "days", text: "Choose at least one." }],
  [{ does: "move", until: "" }, null],
  [
    { does: "move", at: "" },
    { field: "at", text: "It is required." },
  ],
  [{ does: "move", repeats: "hourly", at: "", days: [] }, null],
])("%j lacks %j", (change, fault) => {
  expect(lackOf({ ...NEW, ...change }, ["night"])).toEqual(fault as never);
});

test.each<[Partial<Draft>, string]>([
  [{ name: "a\u0007b" }, "name"],
  [{ until: "20:00" }, "until"],
  [{ exit: "direct" }, "exit"],
  [{ device: "tv" }, "device"],
])("what the gateway says of %j is shown at the field %s", (change, field) => {
  const draft = { ...NEW, name: "film", ...change };
  let error = "";
  try {
    scheduleIn(draft.name, bodyOf(draft));
  } catch (caught) {
    error = (caught as Error).message;
  }
  expect(faultIn(error, FIELD_NAMES)?.field).toBe(field as never);
});

test("a schedule that gives a limit now is none that gives an exit", () => {
  const limit = { ...TIMES, device: TV };
  expect([...givenExits([{ ...FILM, active: true }, MOVE])]).toEqual([[TV, "film"]]);
  expect(givenExits([FILM]).size).toBe(0);
  for (const rate of [{ down: 1, up: 1 }, null])
    expect(
      givenExits([
        { ...limit, rate, active: true },
        { ...SHARED, active: true },
      ]).size,
    ).toBe(0);
});
