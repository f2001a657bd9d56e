import { beforeEach, describe, expect } from "bun:test";
import { alertText } from "../../src/base/alert-rows.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { Unsaved } from "../../src/base/unsaved.ts";
import type { ByTime } from "../../src/devices/by-time.ts";
import { type DeviceId, EVERYBODY_ELSE, type LimitId } from "../../src/devices/id.ts";
import type { Quota, Rate } from "../../src/devices/values.ts";
import { SCHEDULES } from "../../src/schedules/schedule.ts";
import { Schedules } from "../../src/schedules/schedules.ts";
import type { ScheduleBody } from "../../src/schedules/schema.ts";
import { Clock } from "../fake/clock.ts";
import { slow } from "../fast.ts";

const { test } = slow;

const BERLIN = "Europe/Berlin";
const TV = "02:00:00:00:00:20" as DeviceId;
const PHONE = "02:00:00:00:00:21" as DeviceId;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NIGHT = { device: TV, exit: "blocked", at: "21:00", until: "07:00" } satisfies ScheduleBody;
const MOVE = { tunnel: "main", at: "04:00" } satisfies ScheduleBody;
const at = (text: string) => Temporal.PlainDateTime.from(text).toZonedDateTime(BERLIN).epochMilliseconds;

/** Schedules on a clock that a test moves, with devices and tunnels that only note what is done. */
class World {
  readonly settings = new Map<string, string>();
  readonly exits = new Map<LimitId, string>();
  readonly rates = new Map<LimitId, Rate | null>();
  readonly quotas = new Map<LimitId, Quota | null>();
  readonly done: string[] = [];
  readonly alerts: string[] = [];
  counts: number[] = [];
  zone = BERLIN;
  clock: Clock;
  schedules!: Schedules;
  /** What a device's change or a move does. */
  obey: () => void | Promise<void> = () => {};
  canMove = true;
  /** Whether the database has the exits and the rates in force. */
  isSaved = true;
  /** How often the machine was started. */
  boots = 0;
  private stopping = new AbortController();

  constructor(now: string) {
    this.clock = new Clock(at(now), () => {});
    this.start();
  }

  /** A new process on the same disk and kernel. */
  start(): void {
    this.stopping.abort();
    this.stopping = new AbortController();
    const { settings, exits, rates, quotas, clock, alerts, done } = this;
    // As if nobody had a limit of its own.
    const loosens = (from: unknown, to: unknown) => from != null || to === null;
    const isMore = (from?: string, to?: string) =>
      from === "blocked" || (to !== undefined && to !== "blocked");
    const proc = async (path: string) =>
      path.endsWith("boot_id") ? `boot-${this.boots}\n` : `${clock.monotonic() / 1_000} 1.00\n`;
    this.schedules = new Schedules({
      clock: Object.assign(clock, { read: proc }),
      machineZone: () => this.zone,
      store: {
        read: (key) => settings.get(key) ?? null,
        write: (key, value) => void settings.set(key, value),
        atomically: (work) => work(),
      },
      byTime: {
        exit: this.byTime(exits, (exit) => exit ?? null, isMore),
        rate: this.byTime(rates, JSON.stringify, loosens),
        quota: this.byTime(quotas, JSON.stringify, loosens),
      },
      assertPossible: () => {},
      move: async (tunnel) => {
        if (!this.canMove) return false;
        await this.obey();
        done.push(`${this.time} move ${tunnel}`);
        return true;
      },
      alarm: (code, args) => void alerts.push(`${this.time} ${code}: ${alertText(code, args)}`),
      events: { publish: ({ payload }) => void this.counts.push(payload.count) },
      log: { warn: (text) => void alerts.push(text) },
    });
    void this.schedules.watch(this.stopping.signal);
  }

  private byTime<Value>(
    all: Map<LimitId, Value>,
    textOf: (value: Value | undefined) => unknown,
    loosens: (from: Value | undefined, to: Value | undefined) => boolean,
  ): ByTime<Value> {
    const isSaved = () => this.isSaved;
    return {
      get scheduled() {
        return [...all.keys()];
      },
      get isSaved() {
        return isSaved();
      },
      schedule: async (id, value) => {
        await this.obey();
        this.done.push(`${this.time} ${id} ${textOf(value)}`);
        if (value === undefined) all.delete(id);
        else all.set(id, value);
      },
      loosens: (_, from, to) => loosens(from, to),
    };
  }

  /** Time goes by until then. */
  async until(text: string): Promise<void> {
    await this.clock.pass(at(text) - this.clock.now());
  }

  /** The machine was off until then. */
  async offUntil(text: string): Promise<void> {
    this.stopping.abort();
    this.clock.clear();
    this.clock.elapse(at(text) - this.clock.now());
    this.boots += 1;
    this.start();
    await this.clock.pass(0);
  }

  private get time(): string {
    const zoned = Temporal.Instant.fromEpochMilliseconds(Math.floor(this.clock.now())).toZonedDateTimeISO(
      BERLIN,
    );
    return zoned.toPlainDateTime().toString({ smallestUnit: "minute" }).slice(5);
  }
}

let world: World;
beforeEach(() => {
  world = new World("2026-11-22T12:00");
});

describe("an exit by time", () => {
  test("begins and ends each day on the minute", async () => {
    await world.schedules.put("bedtime", NIGHT);
    expect(world.done).toEqual([]);
    await world.until("2026-11-24T12:00");
    expect(world.done).toEqual([
      `11-22T21:00 ${TV} blocked`,
      `11-23T07:00 ${TV} null`,
      `11-23T21:00 ${TV} blocked`,
      `11-24T07:00 ${TV} null`,
    ]);
  });

  test("is in force at once if its time is now, and ends with its schedule", async () => {
    await world.until("2026-11-22T22:00");
    await world.schedules.put("bedtime", NIGHT);
    expect(world.done).toEqual([`11-22T22:00 ${TV} blocked`]);
    await world.schedules.put("bedtime", { ...NIGHT, exit: "main" });
    expect(world.exits.get(TV)).toBe("main");
    await world.schedules.put("bedtime", { ...NIGHT, at: "23:00" });
    expect(world.exits.has(TV)).toBe(false);
    await world.until("2026-11-22T23:30");
    expect(world.exits.get(TV)).toBe("blocked");
    await world.schedules.remove("bedtime");
    expect(world.exits.has(TV)).toBe(false);
  });

  test("stays over a restart, and a person's decision too, until the next time", async () => {
    await world.schedules.put("bedtime", NIGHT);
    await world.until("2026-11-22T22:00");
    await world.offUntil("2026-11-22T22:10");
    expect(world.done).toEqual([`11-22T21:00 ${TV} blocked`]);
    expect(world.schedules.list().schedules).toMatchObject([{ name: "bedtime", active: true }]);
    // As the devices do when a person gives another exit.
    world.exits.delete(TV);
    await world.until("2026-11-22T23:00");
    await world.offUntil("2026-11-22T23:30");
    await world.until("2026-11-23T06:00");
    expect(world.done).toEqual([`11-22T21:00 ${TV} blocked`]);
    expect(world.schedules.list().schedules).toMatchObject([{ active: false }]);
    await world.until("2026-11-23T22:00");
    expect(world.exits.get(TV)).toBe("blocked");
  });

  test.each([
    ["2026-11-22T23:00", "blocked", ["11-22T23:00 02:00:00:00:00:20 blocked"]],
    ["2026-11-25T12:00", undefined, []],
    ["2026-11-25T22:00", "blocked", ["11-25T22:00 02:00:00:00:00:20 blocked"]],
  ])("after a machine that was off until %s is as it should be then", async (until, exit, done) => {
    await world.schedules.put("bedtime", NIGHT);
    await world.offUntil(until);
    expect(world.exits.get(TV)).toBe(exit as string);
    expect(world.done).toEqual(done);
  });

  test("follows the clock when it is set forward and back", async () => {
    await world.schedules.put("bedtime", NIGHT);
    world.clock.setDate(10 * HOUR_MS);
    await world.clock.pass(MINUTE_MS);
    expect(world.exits.get(TV)).toBe("blocked");
    world.clock.setDate(400 * 24 * HOUR_MS);
    await world.clock.pass(MINUTE_MS);
    expect(world.exits.has(TV)).toBe(false);
    world.clock.setDate(-15 * HOUR_MS);
    await world.clock.pass(MINUTE_MS);
    expect(world.exits.get(TV)).toBe("blocked");
    world.clock.setDate(0);
    await world.clock.pass(MINUTE_MS);
    expect(world.exits.has(TV)).toBe(false);
  });

  test("follows the time zone", async () => {
    await world.schedules.put("bedtime", NIGHT);
    world.zone = "Asia/Tokyo";
    await world.clock.pass(2 * HOUR_MS);
    expect(world.exits.get(TV)).toBe("blocked");
    world.zone = BERLIN;
    await world.clock.pass(MINUTE_MS);
    expect(world.exits.has(TV)).toBe(false);
  });

  test("of several for one device is that which began last", async () => {
    await world.schedules.put("evening", { device: TV, exit: "tv", at: "18:00", until: "23:00" });
    await world.schedules.put("bedtime", NIGHT);
    await world.schedules.put("nap", { ...NIGHT, at: "19:00", until: "20:00" });
    await world.until("2026-11-23T08:00");
    expect(world.done).toEqual([
      `11-22T18:00 ${TV} tv`,
      `11-22T19:00 ${TV} blocked`,
      `11-22T20:00 ${TV} tv`,
      `11-22T21:00 ${TV} blocked`,
      `11-23T07:00 ${TV} null`,
    ]);
  });

  test("that fails is told once, is tried again, and is then as it should be", async () => {
    await world.schedules.put("bedtime", NIGHT);
    world.obey = () => Promise.reject(new GatewayError("kernel_refused", "nft failed"));
    await world.until("2026-11-22T21:05");
    const told = `The schedule "bedtime" failed: ${TV} keeps its exit: nft failed.`;
    expect(world.alerts).toEqual([`11-22T21:00 schedule_failed: ${told}`]);
    expect(world.schedules.list().schedules).toMatchObject([{ active: false, error: "nft failed" }]);
    world.obey = () => {};
    await world.until("2026-11-22T21:06");
    expect(world.exits.get(TV)).toBe("blocked");
    expect(world.schedules.list().schedules).toMatchObject([{ active: true, error: null }]);
    expect(world.alerts).toHaveLength(1);
  });

  test("that cannot be ended is tried again, also if its schedule has been removed", async () => {
    await world.until("2026-11-22T22:00");
    await world.schedules.put("bedtime", NIGHT);
    world.obey = () => Promise.reject(new GatewayError("kernel_refused", "nft failed"));
    await world.schedules.remove("bedtime");
    expect(world.exits.get(TV)).toBe("blocked");
    expect(world.alerts).toHaveLength(1);
    world.obey = () => {};
    await world.clock.pass(MINUTE_MS);
    expect(world.exits.has(TV)).toBe(false);
  });

  test("that no schedule gives any more ends at the start, whatever was saved", async () => {
    world.exits.set(TV, "blocked");
    world.settings.set("schedules_done", "{");
    await world.offUntil("2026-11-22T13:00");
    expect(world.exits.has(TV)).toBe(false);
  });
});

describe("a rate by time", () => {
  const SLOW = { down: 5, up: null };
  const EVENING: ScheduleBody = { device: TV, rate: SLOW, at: "18:00", until: "22:00" };
  const given = (time: string, rate: Rate | null | undefined) => `${time} ${TV} ${JSON.stringify(rate)}`;

  test("begins and ends on the minute beside an exit, and of several that which began last counts", async () => {
    await world.schedules.put("evening", EVENING);
    await world.schedules.put("bedtime", NIGHT);
    await world.schedules.put("film", { ...EVENING, rate: null, at: "20:00", until: "21:30" });
    await world.until("2026-11-23T08:00");
    expect(world.done).toEqual([
      given("11-22T18:00", SLOW),
      given("11-22T20:00", null),
      `11-22T21:00 ${TV} blocked`,
      given("11-22T21:30", SLOW),
      given("11-22T22:00", undefined),
      `11-23T07:00 ${TV} null`,
    ]);
  });

  test("stays over a restart, and a person's decision too, until the next time", async () => {
    await world.schedules.put("evening", EVENING);
    await world.until("2026-11-22T19:00");
    await world.offUntil("2026-11-22T19:10");
    expect(world.done).toEqual([given("11-22T18:00", SLOW)]);
    expect(world.schedules.list().schedules).toMatchObject([{ name: "evening", active: true }]);
    // As the limits do when a person gives another rate.
    world.rates.delete(TV);
    await world.offUntil("2026-11-22T21:00");
    expect(world.done).toHaveLength(1);
    expect(world.schedules.list().schedules).toMatchObject([{ active: false }]);
    await world.until("2026-11-23T19:00");
    expect(world.rates.get(TV)).toEqual(SLOW);
    await world.schedules.remove("evening");
    expect(world.rates.has(TV)).toBe(false);
  });

  test("follows the clock when it is set, and that of the present time holds after a machine that was off", async () => {
    await world.schedules.put("evening", EVENING);
    world.clock.setDate(7 * HOUR_MS);
    await world.clock.pass(MINUTE_MS);
    expect(world.rates.get(TV)).toEqual(SLOW);
    world.clock.setDate(0);
    await world.clock.pass(MINUTE_MS);
    expect(world.rates.has(TV)).toBe(false);
    await world.offUntil("2026-11-25T19:00");
    expect(world.rates.get(TV)).toEqual(SLOW);
    await world.offUntil("2026-11-26T12:00");
    expect(world.rates.has(TV)).toBe(false);
  });

  test("that fails is told once, and is tried again", async () => {
    await world.schedules.put("evening", EVENING);
    world.obey = () => Promise.reject(new GatewayError("kernel_refused", "nft failed"));
    await world.until("2026-11-22T18:05");
    const fault = `${TV} keeps its limit: nft failed`;
    expect(world.alerts).toEqual([`11-22T18:00 schedule_failed: The schedule "evening" failed: ${fault}.`]);
    world.obey = () => {};
    await world.until("2026-11-22T18:06");
    expect(world.schedules.list().schedules).toMatchObject([{ active: true, error: null }]);
  });

  test("that the kernel does not answer delays no exit, whether its time comes or it is new", async () => {
    await world.schedules.put("evening", EVENING);
    await world.schedules.put("bedtime", { device: PHONE, exit: "blocked", at: "18:10", until: "07:00" });
    const hang = Promise.withResolvers<void>();
    world.obey = () => hang.promise;
    await world.until("2026-11-22T18:01");
    world.obey = () => {};
    await world.until("2026-11-22T18:11");
    await world.schedules.put("now", { device: TV, exit: "blocked", at: "18:00", until: "19:00" });
    expect(world.exits).toEqual(new Map([PHONE, TV].map((id) => [id, "blocked"])));
    expect(world.rates.size).toBe(0);
    hang.resolve();
    await world.until("2026-11-22T18:12");
    expect(world.rates.size).toBe(1);
  });

  test("of everybody else begins and ends beside that of a device, and a person's decision stays", async () => {
    const guests: ScheduleBody = { shared_rate: SLOW, at: "19:00", until: "21:00" };
    await world.schedules.put("evening", EVENING);
    await world.schedules.put("guests", guests);
    await world.offUntil("2026-11-22T19:30");
    await world.until("2026-11-22T23:00");
    const shared = (time: string, rate?: Rate) => `${time} ${EVERYBODY_ELSE} ${JSON.stringify(rate)}`;
    expect(world.done).toEqual([
      given("11-22T19:30", SLOW),
      shared("11-22T19:30", SLOW),
      shared("11-22T21:00"),
      given("11-22T22:00", undefined),
    ]);
    await world.until("2026-11-23T20:00");
    // As the limits do when a person gives another shared rate.
    world.rates.delete(EVERYBODY_ELSE);
    await world.offUntil("2026-11-23T20:30");
    expect(world.schedules.list().schedules).toMatchObject([{ active: true }, { active: false }]);
    expect([...world.rates.keys()]).toEqual([TV]);
  });

  test("of everybody else that fails says why", async () => {
    await world.schedules.put("guests", { shared_rate: null, at: "18:00", until: "22:00" });
    world.obey = () => Promise.reject(new GatewayError("kernel_refused", "nft failed"));
    await world.until("2026-11-22T18:05");
    expect(world.schedules.list().schedules).toMatchObject([{ active: false, error: "nft failed" }]);
    expect(world.alerts[0]).toEndWith('The schedule "guests" failed: the shared limit stays: nft failed.');
  });
});

describe("a quota by time", () => {
  const QUOTA: Quota = { megabytes: 1_000, every: "day", at_end: "blocked" };
  const SCHOOL: ScheduleBody = {
    ...{ device: TV, quota: { megabytes: 1_000, every: "day" }, at: "06:00", until: "22:00" },
    days: ["mon"],
  };

  test("holds beside a rate and an exit, over a restart, too, until a person decides", async () => {
    await world.schedules.put("school", SCHOOL);
    await world.schedules.put("guests", { shared_quota: null, at: "08:00", until: "09:00" });
    await world.until("2026-11-23T07:00");
    await world.offUntil("2026-11-23T08:30");
    expect(world.schedules.list().schedules).toMatchObject([
      { name: "guests", active: true },
      { active: true },
    ]);
    await world.until("2026-11-23T10:00");
    expect(world.done).toEqual([
      `11-23T06:00 ${TV} ${JSON.stringify(QUOTA)}`,
      `11-23T08:30 ${EVERYBODY_ELSE} null`,
      `11-23T09:00 ${EVERYBODY_ELSE} undefined`,
    ]);
    // As the quotas do when a person gives another one.
    world.quotas.delete(TV);
    await world.offUntil("2026-11-23T11:00");
    expect(world.quotas.size).toBe(0);
    await world.until("2026-11-30T07:00");
    expect(world.quotas.get(TV)).toEqual(QUOTA);
    await world.schedules.remove("school");
    expect(world.quotas.size).toBe(0);
  });

  test("that fails says whose quota stays", async () => {
    await world.schedules.put("guests", { shared_quota: null, at: "18:00", until: "22:00" });
    await world.schedules.put("school", { ...SCHOOL, days: ["sun"], at: "18:00" });
    world.obey = () => Promise.reject(new GatewayError("kernel_refused", "nft failed"));
    await world.until("2026-11-22T18:05");
    expect(world.schedules.list().schedules.map(({ error }) => error)).toEqual(["nft failed", "nft failed"]);
    expect(world.alerts.map((each) => each.split(" failed: ", 2)[1]).toSorted()).toEqual([
      `${TV} keeps its quota: nft failed.`,
      "the shared quota stays: nft failed.",
    ]);
  });
});

describe("a move", () => {
  test("is made each day on the minute, and not when it is new", async () => {
    await world.schedules.put("nightly", MOVE);
    await world.until("2026-11-24T12:00");
    expect(world.done).toEqual(["11-23T04:00 move main", "11-24T04:00 move main"]);
  });

  test("that a restore has put at another time waits for the next one", async () => {
    await world.schedules.put("nightly", { ...MOVE, at: "13:00" });
    await world.until("2026-11-22T14:00");
    const stored = `${world.settings.get("schedules")}`;
    expect(stored).toContain("13:00");
    world.settings.set("schedules", stored.replace("13:00", "13:30"));
    await world.schedules.reload();
    await world.until("2026-11-22T14:05");
    expect(world.done).toEqual(["11-22T13:00 move main"]);
  });

  test("every six hours is made six hours after the last one, also over a restart", async () => {
    await world.schedules.put("often", { tunnel: "main", every_hours: 6 });
    await world.until("2026-11-22T19:00");
    await world.offUntil("2026-11-22T20:00");
    await world.until("2026-11-23T01:00");
    expect(world.done).toEqual(["11-22T18:00 move main", "11-23T00:00 move main"]);
  });

  test.each<[string, ScheduleBody]>([
    ["at a time", MOVE],
    ["every hour", { tunnel: "main", every_hours: 1 }],
  ])("%s that was missed many times is made once", async (_, body) => {
    await world.schedules.put("one", body);
    await world.offUntil("2026-12-22T12:30");
    expect(world.done).toEqual(["12-22T12:30 move main"]);
  });

  test.each<[string, ScheduleBody]>([
    ["at a time", MOVE],
    ["every six hours", { tunnel: "main", every_hours: 6 }],
  ])("%s is neither lost nor repeated when the clock is set", async (_, body) => {
    await world.schedules.put("one", body);
    world.clock.setDate(400 * 24 * HOUR_MS);
    await world.clock.pass(MINUTE_MS);
    expect(world.done).toHaveLength(1);
    world.clock.setDate(0);
    await world.clock.pass(MINUTE_MS);
    expect(world.done).toHaveLength(1);
    await world.clock.pass(24 * HOUR_MS);
    expect(world.done).toHaveLength("at" in body ? 2 : 5);
  });

  test("waits while the tunnel is being connected", async () => {
    await world.schedules.put("nightly", MOVE);
    world.canMove = false;
    await world.until("2026-11-23T04:10");
    expect(world.done).toEqual([]);
    world.canMove = true;
    await world.until("2026-11-24T03:00");
    expect(world.done).toEqual(["11-23T04:10 move main"]);
  });

  test("that fails is told each time, and waits for its next time", async () => {
    await world.schedules.put("nightly", MOVE);
    world.obey = () => Promise.reject(new GatewayError("no_answer", "two does not answer"));
    await world.until("2026-11-24T12:00");
    const fault = "two does not answer";
    const words = `schedule_failed: The schedule "nightly" failed: the main tunnel does not move: ${fault}.`;
    expect(world.alerts).toEqual([`11-23T04:00 ${words}`, `11-24T04:00 ${words}`]);
    expect(world.schedules.list().schedules).toMatchObject([{ error: fault }]);
    world.obey = () => {};
    await world.until("2026-11-25T12:00");
    expect(world.schedules.list().schedules).toMatchObject([{ error: null }]);
  });

  test("that takes long holds up neither exits nor itself", async () => {
    await world.schedules.put("often", { tunnel: "main", every_hours: 1 });
    await world.schedules.put("bedtime", NIGHT);
    const { promise, resolve } = Promise.withResolvers<void>();
    world.obey = () => (world.clock.now() < at("2026-11-22T13:01") ? promise : undefined);
    await world.until("2026-11-22T22:30");
    expect(world.done).toEqual([`11-22T21:00 ${TV} blocked`]);
    resolve();
    await world.until("2026-11-22T22:31");
    expect(world.done).toEqual([`11-22T21:00 ${TV} blocked`, "11-22T22:30 move main"]);
  });
});

test("they are listed by name, with their next times", async () => {
  await world.schedules.put("nightly", { ...MOVE, days: ["sat"] });
  await world.schedules.put("bedtime", NIGHT);
  await world.schedules.put("often", { tunnel: "main", every_hours: 6 });
  await world.until("2026-11-22T22:00");
  expect(world.schedules.list()).toEqual({
    time_zone: BERLIN,
    schedules: [
      { name: "bedtime", ...NIGHT, active: true, next_at: "2026-11-23T06:00:00.000Z", error: null },
      {
        name: "nightly",
        ...MOVE,
        days: ["sat"],
        active: false,
        next_at: "2026-11-28T03:00:00.000Z",
        error: null,
      },
      {
        name: "often",
        tunnel: "main",
        every_hours: 6,
        active: false,
        next_at: "2026-11-22T23:00:00.000Z",
        error: null,
      },
    ],
  });
});

test("what is wrong is refused and changes nothing", async () => {
  expect(world.schedules.put("one", { tunnel: "main" })).rejects.toThrow("every_hours is required");
  expect(world.schedules.put("a/b", MOVE)).rejects.toThrow("name: contains a slash");
  expect(world.schedules.remove("one")).rejects.toThrow("name: there is no schedule of this name");
  for (let count = 0; count < SCHEDULES.max; count += 1) await world.schedules.put(`n${count}`, MOVE);
  expect(world.schedules.put("one", MOVE)).rejects.toThrow(
    "name: there are 64 schedules, the maximum; remove one first",
  );
  await world.schedules.put("n1", NIGHT);
  expect(world.schedules.list().schedules).toHaveLength(SCHEDULES.max);
});

test("a disk that takes no writes refuses a schedule, and does not keep those that are there from their work", async () => {
  await world.schedules.put("bedtime", NIGHT);
  world.settings.set = () => {
    throw new GatewayError("storage_full", "the disk is full");
  };
  expect(world.schedules.put("two", MOVE)).rejects.toThrow("the disk is full");
  await world.until("2026-11-23T08:00");
  expect(world.done).toEqual([`11-22T21:00 ${TV} blocked`, `11-23T07:00 ${TV} null`]);
  expect(world.schedules.list().schedules).toHaveLength(1);
});

test("a disk that cannot be read for a while is told once, and keeps schedules from no later work", async () => {
  await world.schedules.put("bedtime", NIGHT);
  const { get } = world.settings;
  world.settings.get = () => {
    throw new GatewayError("unable", "the disk does not answer");
  };
  await world.until("2026-11-22T20:00");
  expect(world.alerts).toEqual(["schedules: the disk does not answer"]);
  world.settings.get = get;
  await world.until("2026-11-22T22:00");
  expect(world.done).toEqual([`11-22T21:00 ${TV} blocked`]);
});

describe("on a disk that takes no writes", () => {
  const FULL = new GatewayError("storage_full", "the disk is full");
  const IN_FORCE = "the disk is full The change is in force, but a restart would undo it";
  const fill = () => {
    world.settings.set = () => {
      throw FULL;
    };
  };
  const empty = () => {
    world.settings.set = (key, value) => Map.prototype.set.call(world.settings, key, value);
  };

  test("a new schedule for blocked works, is told, and is saved when there is room", async () => {
    fill();
    await expect(world.schedules.put("bedtime", NIGHT)).rejects.toThrow(IN_FORCE);
    await world.until("2026-11-22T21:30");
    expect(world.done).toEqual([`11-22T21:00 ${TV} blocked`]);
    empty();
    await world.until("2026-11-22T21:31");
    expect(world.settings.get("schedules")).toContain("bedtime");
  });

  test("a removal that is repeated is saved when there is room, and then there is nothing to remove", async () => {
    await world.schedules.put("free", { device: TV, rate: null, at: "10:00", until: "22:00" });
    fill();
    for (let times = 0; times < 2; times++)
      await expect(world.schedules.remove("free")).rejects.toThrow(IN_FORCE);
    empty();
    await world.schedules.remove("free");
    expect(world.settings.get("schedules")).toBe("[]");
    await expect(world.schedules.remove("free")).rejects.toMatchObject({ code: "not_found" });
  });

  test("a new one for a lower rate works, too, and one for a higher one ends with its removal", async () => {
    const rated = (rate: Rate | null): ScheduleBody => ({ device: TV, rate, at: "10:00", until: "22:00" });
    await world.schedules.put("free", rated(null));
    fill();
    await expect(world.schedules.put("slow", rated({ down: 1, up: 1 }))).rejects.toThrow(IN_FORCE);
    await expect(world.schedules.put("fast", rated(null))).rejects.toThrow(FULL);
    await expect(world.schedules.remove("slow")).rejects.toThrow(FULL);
    await expect(world.schedules.remove("free")).rejects.toThrow(IN_FORCE);
    const shared = (rate: Rate | null): ScheduleBody => ({
      ...{ shared_rate: rate, at: "10:00", until: "22:00" },
    });
    await expect(world.schedules.put("guests", shared({ down: 1, up: 1 }))).rejects.toThrow(IN_FORCE);
    await expect(world.schedules.put("guests", shared(null))).rejects.toThrow(FULL);
    empty();
    await world.until("2026-11-22T13:00");
    expect(JSON.parse(world.settings.get("schedules") ?? "")).toMatchObject([
      { name: "guests", shared_rate: { down: 1, up: 1 } },
      { name: "slow" },
    ]);
  });

  test("one that replaces another, or opens, is refused", async () => {
    await world.schedules.put("bedtime", NIGHT);
    fill();
    const later = { ...NIGHT, at: "22:00" };
    await expect(world.schedules.put("bedtime", later)).rejects.toThrow(FULL);
    await expect(world.schedules.put("day", { ...NIGHT, exit: "main" })).rejects.toThrow(FULL);
    await expect(world.schedules.remove("bedtime")).rejects.toThrow(FULL);
    await world.until("2026-11-22T21:30");
    expect(world.done).toEqual([`11-22T21:00 ${TV} blocked`]);
  });

  test("one that opens ends with its removal", async () => {
    await world.schedules.put("day", { ...NIGHT, exit: "main" });
    await world.until("2026-11-22T21:30");
    fill();
    await expect(world.schedules.remove("day")).rejects.toThrow(IN_FORCE);
    expect(world.done).toEqual([`11-22T21:00 ${TV} main`, `11-22T21:30 ${TV} null`]);
    empty();
    await world.until("2026-11-22T21:32");
    expect(world.settings.get("schedules")).toBe("[]");
  });

  test("a device that is blocked on time, although that cannot be saved, is no failure of the schedule", async () => {
    await world.schedules.put("bedtime", NIGHT);
    const before = world.schedules.list().schedules;
    world.obey = () => {
      throw new Unsaved(FULL);
    };
    await world.until("2026-11-22T21:30");
    expect(world.schedules.list().schedules.map(({ error }) => error)).toEqual(before.map(() => null));
    expect(world.alerts).toEqual([
      "11-22T21:00 state_not_saved: the disk is full The change is in force, but a restart would undo it: repeat the command when the database can be written.",
    ]);
  });

  describe.each([
    ["exit", NIGHT, "blocked"],
    ["rate", { device: TV, rate: { down: 1, up: 1 }, at: "21:00", until: "07:00" }, '{"down":1,"up":1}'],
  ] as const)("of a scheduled %s that is not saved", (what, body, text) => {
    /** The disk is full for a moment: the database lacks what the device has now, and takes what comes after it. */
    const missed = async () => {
      world.obey = () => {
        world.isSaved = false;
        throw new Unsaved(FULL);
      };
      await world.schedules.put("bedtime", body);
      await world.until("2026-11-22T21:00");
      world.obey = () => {};
      expect(world.schedules.list().schedules).toHaveLength(1);
    };

    test("a restart gives it again, once", async () => {
      await missed();
      world.isSaved = true;
      await world.offUntil("2026-11-22T21:01");
      await world.offUntil("2026-11-22T21:02");
      await world.until("2026-11-22T21:30");
      expect(world.done).toEqual([`11-22T21:01 ${TV} ${text}`]);
    });

    test("another writer, who has taken it from the database, does not end it", async () => {
      await missed();
      world.isSaved = true;
      await world.schedules.reload();
      expect(world.done).toEqual([`11-22T21:00 ${TV} ${text}`]);
    });

    test("it is noted as done once it is saved, and then a person's decision outlives a restart", async () => {
      await missed();
      await world.until("2026-11-22T21:10");
      expect(world.counts).toEqual([1, 1]);
      world.isSaved = true;
      await world.until("2026-11-22T21:11");
      // By then a person has ended it.
      await world.offUntil("2026-11-22T21:12");
      await world.until("2026-11-22T21:30");
      expect([what, world.done, world.alerts.length]).toEqual([what, [], 1]);
    });
  });

  test("what cannot be noted is told once, and noted once there is room", async () => {
    await world.schedules.put("bedtime", NIGHT);
    fill();
    await world.until("2026-11-22T22:00");
    expect(world.alerts).toEqual(["what schedules have done could not be saved: the disk is full"]);
    empty();
    await world.until("2026-11-22T22:01");
    // By then a person has ended it.
    world.exits.clear();
    await world.offUntil("2026-11-22T22:02");
    expect(world.done).toEqual([`11-22T21:00 ${TV} blocked`]);
  });
});

describe("what comes once", () => {
  const PAUSE: ScheduleBody = { device: TV, exit: "blocked", once: { minutes: 30 } };
  const names = () => world.schedules.list().schedules.map(({ name }) => name);

  test("begins at once, ends by itself, and leaves no schedule", async () => {
    await world.schedules.put("pause", PAUSE);
    expect(world.schedules.list().schedules).toEqual([
      {
        name: "pause",
        device: TV,
        exit: "blocked",
        once: { began_at: "2026-11-22T11:00:00.000Z", ends_at: "2026-11-22T11:30:00.000Z" },
        active: true,
        next_at: "2026-11-22T11:30:00.000Z",
        error: null,
      },
    ]);
    await world.until("2026-11-22T13:00");
    expect(world.done).toEqual([`11-22T12:00 ${TV} blocked`, `11-22T12:30 ${TV} null`]);
    expect([names(), world.settings.get("schedules")]).toEqual([[], "[]"]);
  });

  test("until the morning ends when that time comes next", async () => {
    await world.schedules.put("pause", { ...PAUSE, once: { until: "07:00" } });
    await world.until("2026-11-23T12:00");
    expect(world.done).toEqual([`11-22T12:00 ${TV} blocked`, `11-23T07:00 ${TV} null`]);
  });

  test("counts before what begins meanwhile and comes again, which has its time afterwards", async () => {
    await world.schedules.put("show", { ...NIGHT, exit: "main", at: "12:10", until: "13:00" });
    await world.schedules.put("pause", PAUSE);
    await world.until("2026-11-22T14:00");
    expect(world.done).toEqual([
      `11-22T12:00 ${TV} blocked`,
      `11-22T12:30 ${TV} main`,
      `11-22T13:00 ${TV} null`,
    ]);
  });

  test.each([-400, -1, 1, 400])(
    "a clock that is set by %d days neither ends it nor makes it endless",
    async (days) => {
      await world.schedules.put("pause", PAUSE);
      world.clock.setDate(days * 24 * HOUR_MS);
      await world.clock.pass(29 * MINUTE_MS);
      expect([names(), world.exits.get(TV)]).toEqual([["pause"], "blocked"]);
      await world.clock.pass(MINUTE_MS);
      expect([names(), world.exits.get(TV)]).toEqual([[], undefined]);
    },
  );

  test.each([-400, -1, 1, 400])(
    "a clock that is set by %d days and a restart of the service together neither end it nor make it endless",
    async (days) => {
      await world.schedules.put("pause", PAUSE);
      await world.clock.pass(10 * MINUTE_MS);
      world.clock.setDate(days * 24 * HOUR_MS);
      world.start();
      await world.clock.pass(19 * MINUTE_MS);
      expect([names(), world.exits.get(TV)]).toEqual([["pause"], "blocked"]);
      await world.clock.pass(MINUTE_MS);
      expect([names(), world.exits.get(TV)]).toEqual([[], undefined]);
    },
  );

  test("another one of the same name is not as long as the one before a restart", async () => {
    await world.schedules.put("pause", PAUSE);
    await world.schedules.put("pause", { ...PAUSE, once: { minutes: 60 } });
    world.start();
    await world.until("2026-11-22T12:59");
    expect(world.exits.get(TV)).toBe("blocked");
    await world.until("2026-11-22T13:00");
    expect([names(), world.exits.get(TV)]).toEqual([[], undefined]);
  });

  test("a restart of the machine leaves it as long as the clock says, and at most as long as it was given", async () => {
    await world.schedules.put("pause", PAUSE);
    await world.offUntil("2026-11-22T12:20");
    await world.clock.pass(9 * MINUTE_MS);
    expect(world.exits.get(TV)).toBe("blocked");
    world.clock.setDate(-24 * HOUR_MS);
    world.boots += 1;
    world.start();
    await world.clock.pass(29 * MINUTE_MS);
    expect(world.exits.get(TV)).toBe("blocked");
    await world.clock.pass(MINUTE_MS);
    expect([names(), world.exits.get(TV)]).toEqual([[], undefined]);
  });

  test("one that was over while the machine was off ends at the start", async () => {
    await world.schedules.put("pause", PAUSE);
    await world.offUntil("2026-11-22T15:00");
    expect([names(), world.exits.get(TV)]).toEqual([[], undefined]);
  });

  test("a full disk keeps no pause from beginning, and keeps it from ending", async () => {
    const { settings } = world;
    const write = settings.set.bind(settings);
    settings.set = () => {
      throw new Error("the disk is full");
    };
    await expect(world.schedules.put("pause", PAUSE)).rejects.toThrow(Unsaved);
    await expect(world.schedules.put("pause", { ...PAUSE, once: { minutes: 60 } })).rejects.toThrow(Unsaved);
    await expect(world.schedules.put("film", { ...PAUSE, exit: "main" })).rejects.toThrow("full");
    await world.until("2026-11-22T14:00");
    expect([names(), world.exits.get(TV)]).toEqual([["pause"], "blocked"]);
    expect(world.schedules.list().schedules[0]?.error).toContain("the disk is full");
    settings.set = write;
    await world.until("2026-11-22T14:01");
    expect([names(), world.exits.get(TV)]).toEqual([[], undefined]);
  });

  test("a shorter one in its place opens, so a full disk refuses it", async () => {
    await world.schedules.put("pause", PAUSE);
    world.settings.set = () => {
      throw new Error("the disk is full");
    };
    await expect(world.schedules.put("pause", { ...PAUSE, once: { minutes: 5 } })).rejects.toThrow(
      /^the disk/,
    );
    await world.until("2026-11-22T12:29");
    expect(world.exits.get(TV)).toBe("blocked");
  });

  test.each<ScheduleBody["once"] & object>([{}, { minutes: 1, until: "07:00" }, { until: "7" }])(
    "%j is refused",
    async (once) => {
      await expect(world.schedules.put("pause", { ...PAUSE, once })).rejects.toThrow(/^once/);
      for (const more of [{ at: "10:00" }, { days: ["mon" as const] }])
        await expect(
          world.schedules.put("pause", { ...PAUSE, ...more, once: { minutes: 1 } }),
        ).rejects.toThrow(/^once/);
      await expect(world.schedules.put("pause", { tunnel: "main", once: { minutes: 1 } })).rejects.toThrow(
        /^once/,
      );
      expect(names()).toEqual([]);
    },
  );

  test("a saved one that would last longer than a client can ask for is left out", () => {
    const once = { began_at: "2026-11-22T11:00:00.000Z", ends_at: "2027-11-22T11:00:00.000Z" };
    expect(SCHEDULES.parse(JSON.stringify([{ name: "pause", device: TV, exit: "blocked", once }]))).toEqual(
      [],
    );
    const week = { ...once, ends_at: "2026-11-29T11:00:00.000Z" };
    expect(
      SCHEDULES.parse(JSON.stringify([{ name: "pause", device: TV, exit: "blocked", once: week }])),
    ).toHaveLength(1);
  });
});
