import { expect, test } from "bun:test";
import { faultIn } from "../../src/dashboard/fault.ts";
import { bytesOf, timeOfDay } from "../../src/dashboard/format.ts";
import { type FieldRow, givenIn, shownIn } from "../../src/dashboard/parts/form-values.ts";
import {
  daysOf,
  givenExits,
  momentOf,
  type Phase,
  phaseOf,
  type Schedule,
  sentenceFor,
} from "../../src/dashboard/schedule.ts";
import { bodyOf, type Draft, lackOf } from "../../src/dashboard/views/schedules/draft.ts";
import { type Known, rowsFor } from "../../src/dashboard/views/schedules/rows.ts";
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
    { ...TIMES, network: "eth0.20", exit: "blocked" },
    { ...TIMES, network: "eth0.20", rate: { down: 5, up: null } },
    { ...TIMES, network: "eth0.20", quota: QUOTA },
    SHARED,
    { ...SHARED, shared_rate: null },
    { ...GUESTS, shared_quota: QUOTA },
    { ...GUESTS, shared_quota: null },
  ];
  for (const schedule of [FILM, { ...FILM, days }, ...limits, MOVE, { ...daily, at: "04:00", days }]) {
    const { name, active, next_at, error, ...body } = schedule;
    expect(sent(draftOf(schedule))).toEqual(body);
  }
});

const KNOWN = {
  list: { devices: DEVICES },
  exits: [{ value: "main", text: "Main" }],
  tunnels: [{ name: "main" }],
  networks: [{ interface: "eth0.20" }],
  zone: BERLIN,
} as unknown as Known;

type Texts = Record<string, string>;

/** What the form gives with these texts in its fields. */
function draftOf(schedule: Schedule | null, texts: Texts = {}, known = KNOWN): Draft {
  const typed = Object.entries(texts).map(([name, text]) => [name, { text, over: "" }]);
  const first: Texts = { days: DAYS.join(", "), repeats: "daily", minutes: "60" };
  for (const [name, each] of typed as [string, { over: string }][]) each.over = first[name] ?? "";
  return givenIn(
    shownIn("schedule", rowsFor(schedule, known, texts), Object.fromEntries(typed)),
  ) as unknown as Draft;
}

/** As the gateway gets it. */
function sent(draft: Draft): object {
  return JSON.parse(JSON.stringify(bodyOf(draft)));
}

const NEW = { name: " film ", at: "20:00", until: "23:00" };

test("a limit stays when it is to hold for all others", () => {
  const { device: _, quota, ...times } = { ...TIMES, device: TV, quota: QUOTA };
  const draft = draftOf({ ...times, device: TV, quota }, { does: "shared_quota" });
  expect(sent({ ...draft, does: "shared_quota" })).toEqual({
    at: "20:00",
    until: "23:00",
    shared_quota: QUOTA,
  });
  const limit = draftOf(SHARED, { does: "rate" });
  expect(sent({ ...limit, does: "rate" })).toMatchObject({ device: TV, rate: { down: 50, up: 50 } });
});

test("a new schedule begins with the first device, or with a move if there is none", () => {
  expect(sent(draftOf(null, NEW))).toEqual({ device: TV, exit: "main", at: "20:00", until: "23:00" });
  expect(sent(draftOf(null, { ...NEW, repeats: "minutes", minutes: "45" }))).toEqual({
    ...{ device: TV, exit: "main", once: { minutes: 45 } },
  });
  expect(sent(draftOf(null, { ...NEW, repeats: "until", until: "07:00" }))).toEqual({
    ...{ device: TV, exit: "main", once: { until: "07:00" } },
  });
  const none = { ...KNOWN, list: { devices: [] } } as unknown as Known;
  expect(sent(draftOf(null, { at: "04:00" }, none))).toEqual({ tunnel: "main", at: "04:00" });
});

test.each<[Texts, { field: string; text: string } | null]>([
  [{}, null],
  [{ name: "a/b" }, { field: "name", text: "It cannot be part of an address; leave out slashes." }],
  [{ name: ".." }, { field: "name", text: "It cannot be part of an address; leave out slashes." }],
  [{ name: "night" }, { field: "name", text: "Another schedule has it already; choose another one." }],
  [{ until: "20:00" }, { field: "until", text: "It must differ from the first time." }],
  [{ days: "" }, { field: "days", text: "Choose at least one." }],
])("%j lacks %j", (change, fault) => {
  expect(lackOf(draftOf(null, { ...NEW, ...change }), ["night"])).toEqual(fault);
});

test("of a schedule, the browser asks for its name and its times", () => {
  const required = (texts: Texts) =>
    shownIn<FieldRow>("schedule", rowsFor(null, KNOWN, texts)).flatMap(({ name, row, rule }) =>
      row.required || (rule.required && row.options === undefined) ? [name] : [],
    );
  expect(required({})).toEqual(["name", "at", "until"]);
  expect(required({ repeats: "minutes" })).toEqual(["name", "minutes"]);
  expect(required({ repeats: "until" })).toEqual(["name", "until"]);
  expect(required({ does: "move" })).toEqual(["name", "at"]);
  expect(required({ does: "move", repeats: "hourly" })).toEqual(["name", "every_hours"]);
});

test.each<[Texts & { exit?: string; device?: string }, string]>([
  [{ name: "a\u0007b" }, "name"],
  [{ until: "20:00" }, "until"],
  [{ exit: "direct" }, "exit"],
  [{ device: "tv" }, "device"],
])("what the gateway says of %j is shown at the field %s", (change, field) => {
  const draft = { ...draftOf(null, NEW), name: "film", ...change } as Draft;
  let error = "";
  try {
    scheduleIn(draft.name, sent(draft));
  } catch (caught) {
    error = (caught as Error).message;
  }
  const names = Object.keys(rowsFor(null, KNOWN));
  expect(faultIn(error, names)?.field).toBe(field);
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
