import { expect } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { Absences } from "../../src/history/absences.ts";
import { History, type Sources } from "../../src/history/history.ts";
import { pageOf } from "../../src/history/page.ts";
import { QualityRing, UPLINK } from "../../src/history/quality-ring.ts";
import type { Carried, Ring, Subject } from "../../src/history/ring.ts";
import { Store } from "../../src/store/store.ts";
import type { State } from "../../src/tunnel/state.ts";
import { FakeHost } from "../fake/host.ts";
import { long, runs, sampled, slow } from "../fast.ts";
import { inDirectory } from "../tunnel/directory.ts";

const { test } = slow;

const MINUTE_MS = 60_000;
/** The beginning of a day. */
const BEGIN = Date.UTC(2026, 2, 1) / MINUTE_MS;
const EVER = { from: 0, to: Number.MAX_SAFE_INTEGER };
const TV: Subject = { kind: "device", name: "02:00:00:00:00:20" };
const MAIN: Subject = { kind: "tunnel", name: "main" };

/** A gateway with the tunnel `main`, whose counters a test moves. */
class World {
  readonly host = new FakeHost(0);
  readonly warnings: string[] = [];
  /** What the present session's interface has carried; null without a session. */
  session: { link: string; rx: number; tx: number } | null = { link: "wg0", rx: 0, tx: 0 };
  /** What devices have carried since they were counted last. */
  uncounted: [id: string, Carried][] = [];
  /** The bytes of devices that the history was told of. */
  told = 0;
  direct: string[] = [];
  listings = 0;
  writes = 0;
  isFull = false;
  private isWriting = false;
  history!: History;
  private store!: Store;
  private stopping = new AbortController();

  constructor(
    readonly directory: string,
    private readonly isKept = true,
  ) {
    this.host.patient = true;
    this.host.setClock(BEGIN * MINUTE_MS);
    this.begin();
  }

  private begin(): void {
    const store = Store.open(this.directory, 0);
    this.store = store;
    const guarded: Pick<Store, "atomically" | "view" | "read" | "write" | "forget"> = {
      read: (key) => store.read(key),
      write: (key, value) => store.write(key, value),
      forget: (key) => store.forget(key),
      view: (work) => store.view(work),
      atomically: (work) => {
        if (this.isFull) throw new Error("the disk is full");
        if (!this.isWriting) this.writes += 1;
        const wasWriting = this.isWriting;
        this.isWriting = true;
        try {
          store.atomically(work);
        } finally {
          this.isWriting = wasWriting;
        }
      },
    };
    const log = { warn: (message: string) => void this.warnings.push(message) };
    this.history = new History({ clock: this.host, store: guarded, log, isKept: this.isKept });
    void this.history.watch(this.sources, this.stopping.signal);
  }

  /** Also the tunnel is gone. */
  async cutPower(): Promise<void> {
    this.host.files.set("/proc/sys/kernel/random/boot_id", `${this.host.now()}\n`);
    await this.restart(0);
  }

  /** The service is killed and started; the tunnel has carried so much by then. */
  async restart(rx: number): Promise<void> {
    this.stopping.abort();
    this.stopping = new AbortController();
    this.store.close();
    this.session = { link: "wg0", rx, tx: 0 };
    this.begin();
    await this.host.pass(0);
  }

  readonly main = {
    name: "main",
    controller: ((world: World) => ({
      get state() {
        return (
          world.session === null
            ? { name: "disconnected" }
            : { name: "connected", session: { link: world.session.link }, since: 0 }
        ) as State;
      },
      carried: async () => ({ rx_bytes: world.session?.rx ?? 0, tx_bytes: world.session?.tx ?? 0 }),
    }))(this),
  };

  readonly sources: Sources = ((world: World) => ({
    tunnels: () => [world.main],
    devices: {
      count: async () => {
        world.listings += 1;
        for (const [id, carried] of world.uncounted.splice(0)) {
          world.history.note("device", id, carried);
          world.told += carried.rx + carried.tx;
        }
      },
      checkpoint: () => {
        const { told } = world;
        return (store) => store.write("told", String(told));
      },
      get direct() {
        return { devices: world.direct };
      },
    },
  }))(this);

  get saved(): number {
    return Number(this.store.read("told"));
  }

  carry(rx: number, tx = 0): void {
    if (this.session === null) throw new Error("there is no session");
    this.session.rx += rx;
    this.session.tx += tx;
  }

  /** By minutes since the beginning. */
  minutes(of: Subject | null = MAIN): [minute: number, rx: number, tx: number][] {
    return this.series(of, "minute").map(({ at, rx, tx }) => [at - BEGIN, rx, tx]);
  }

  hours(of: Subject | null = MAIN): [hour: number, rx: number, tx: number][] {
    return this.series(of, "hour").map(({ at, rx, tx }) => [at - BEGIN / 60, rx, tx]);
  }

  /** As the interface reads them. */
  private series(of: Subject | null, resolution: "minute" | "hour") {
    this.history.write();
    return this.history.ring.series(of, { resolution, ...EVER });
  }
}

function claim(name: string, work: (world: World) => Promise<void>): void {
  test(name, () =>
    inDirectory(async (directory) => {
      const world = new World(directory);
      await world.host.pass(0);
      // The start has counted once, and written that.
      [world.listings, world.writes] = [0, 0];
      await work(world);
    }),
  );
}

claim("what is carried is in its minute and its hour, of tunnels and of devices", async (world) => {
  const { host } = world;
  world.carry(1_000_000, 50_000);
  world.uncounted = [[TV.name, { rx: 900_000, tx: 40_000 }]];
  await host.pass(MINUTE_MS);
  world.carry(20_000, 1);
  await host.pass(MINUTE_MS);
  await host.pass(70 * MINUTE_MS);
  world.carry(30_000);
  await host.pass(MINUTE_MS);
  expect(world.minutes()).toEqual([
    [0, 1_000_000, 50_000],
    [1, 20_000, 1],
    [72, 30_000, 0],
  ]);
  expect(world.hours()).toEqual([
    [0, 1_020_000, 50_001],
    [1, 30_000, 0],
  ]);
  expect([world.minutes(TV), world.hours(TV)]).toEqual([[[0, 900_000, 40_000]], [[0, 900_000, 40_000]]]);
  expect(world.history.ring.totals({ resolution: "hour", ...EVER })).toEqual([
    { ...MAIN, rx: 1_050_000, tx: 50_001 },
    { ...TV, rx: 900_000, tx: 40_000 },
  ]);
});

claim("an idle tunnel costs no listing and no write, and nothing of it is lost", async (world) => {
  for (let minute = 0; minute < 30; minute++) {
    world.carry(100, 100);
    await world.host.pass(MINUTE_MS);
  }
  expect([world.listings, world.writes, world.minutes()]).toEqual([0, 0, []]);
  world.carry(10_000);
  await world.host.pass(3 * MINUTE_MS);
  expect([world.listings, world.writes, world.minutes()]).toEqual([1, 1, [[30, 13_000, 3_000]]]);
});

claim("three minutes are written at once, however many read the counters", async (world) => {
  const { host } = world;
  for (let second = 0; second < 180; second++) {
    world.carry(1_000_000);
    await world.history.read(world.main);
    world.history.note("device", TV.name, { rx: 1_000_000, tx: 0 });
    await host.pass(1_000);
  }
  expect(world.writes).toBe(1);
  expect([world.minutes(), world.minutes(TV)]).toEqual([
    [0, 1, 2].map((minute) => [minute, 60_000_000, 0]),
    [0, 1, 2].map((minute) => [minute, 60_000_000, 0]),
  ]);
  expect(world.writes).toBe(1);
});

claim("what leaves outside the tunnels is counted too, once a minute", async (world) => {
  world.direct = [TV.name];
  world.uncounted = [[TV.name, { rx: 50_000, tx: 1 }]];
  await world.host.pass(MINUTE_MS);
  expect([world.listings, world.minutes(TV)]).toEqual([1, [[0, 50_000, 1]]]);
});

claim(
  "what a session carries while the service is away counts for the first minute after it",
  async (world) => {
    world.carry(5_000_000);
    await world.host.pass(3 * MINUTE_MS);
    world.carry(300_000);
    // Not written yet.
    await world.host.pass(MINUTE_MS);
    await world.restart(5_500_000);
    world.carry(20_000);
    await world.host.pass(MINUTE_MS);
    expect(world.minutes()).toEqual([
      [0, 5_000_000, 0],
      [4, 520_000, 0],
    ]);
  },
);

claim(
  "what is saved of the devices' counters is what the history has of them, whenever the service is killed",
  async (world) => {
    for (let second = 0; second < 400; second += 20) {
      world.uncounted = [[TV.name, { rx: 30_000, tx: second }]];
      await world.sources.devices.count();
      await world.host.pass(20_000);
      if (second % 60 === 40) world.history.write();
      const rows = world.history.ring.series(TV, { resolution: "minute", ...EVER });
      expect(world.saved).toBe(rows.reduce((sum, { rx, tx }) => sum + rx + tx, 0));
    }
    expect(world.saved).toBeGreaterThan(300_000);
  },
);

claim("counters that begin again are not taken for less or more than was carried", async (world) => {
  const { host } = world;
  world.carry(2_000_000);
  await host.pass(MINUTE_MS);
  // Another server: its session is on the other interface, and has carried more within a minute.
  await world.history.read(world.main);
  world.session = { link: "wg1", rx: 3_000_000, tx: 0 };
  await host.pass(MINUTE_MS);
  // The same interface, made again.
  world.session = { link: "wg1", rx: 40_000, tx: 0 };
  await host.pass(MINUTE_MS);
  // A disconnect and a connect, with more than before.
  world.session = null;
  await world.history.read(world.main);
  world.session = { link: "wg1", rx: 70_000, tx: 0 };
  await host.pass(MINUTE_MS);
  // Counters that could not be read.
  const session = { ...world.session };
  world.session = { link: "wg1", rx: 0, tx: 0 };
  await host.pass(MINUTE_MS);
  world.session = { ...session, rx: session.rx + 11_000 };
  await host.pass(MINUTE_MS);
  expect(world.minutes()).toEqual([
    [0, 2_000_000, 0],
    [1, 3_000_000, 0],
    [2, 40_000, 0],
    [3, 70_000, 0],
    [5, 11_000, 0],
  ]);
});

claim("a clock that is moved makes no second row of a minute, and loses nothing", async (world) => {
  const { host } = world;
  const moves = [0, -3 * MINUTE_MS, 5 * MINUTE_MS, -90 * MINUTE_MS, 31_000, -31_000, 365 * 86_400_000];
  for (const move of moves) {
    world.carry(100_000, 20_000);
    host.setClock(host.now() - host.monotonic() + move);
    await host.pass(2 * MINUTE_MS);
  }
  const rows = world.minutes();
  expect(new Set(rows.map(([minute]) => minute)).size).toBe(rows.length);
  const sum = (of: typeof rows) =>
    of.reduce((total, [, rx, tx]) => ({ rx: total.rx + rx, tx: total.tx + tx }), { rx: 0, tx: 0 });
  expect([sum(rows), sum(world.hours())]).toEqual([
    { rx: 700_000, tx: 140_000 },
    { rx: 700_000, tx: 140_000 },
  ]);
  expect(rows.every(([, rx, tx]) => rx > 0 && tx > 0)).toBe(true);
});

claim("a power cut takes three minutes at most", async (world) => {
  for (let minute = 0; minute < 5; minute++) {
    world.carry(100_000);
    await world.host.pass(MINUTE_MS);
  }
  world.carry(50_000);
  await world.host.pass(MINUTE_MS / 2);
  await world.cutPower();
  expect(world.minutes().map(([, rx]) => rx)).toEqual([100_000, 100_000, 100_000]);
  world.carry(70_000);
  await world.host.pass(MINUTE_MS);
  expect(world.minutes().at(-1)).toEqual([5, 70_000, 0]);
});

claim("a service that is stopped loses nothing", async (world) => {
  world.carry(50_000);
  world.uncounted = [[TV.name, { rx: 40_000, tx: 1 }]];
  await world.host.pass(10_000);
  await world.history.stop();
  await world.restart(50_000);
  world.carry(20_000);
  await world.host.pass(MINUTE_MS);
  expect([world.minutes(), world.minutes(TV)]).toEqual([
    [
      [-1, 50_000, 0],
      [0, 20_000, 0],
    ],
    [[-1, 40_000, 1]],
  ]);
});

claim("a disk that takes no writes is logged once, and what was carried meanwhile follows", async (world) => {
  world.isFull = true;
  for (let minute = 0; minute < 3; minute++) {
    world.carry(100_000);
    await world.host.pass(MINUTE_MS);
  }
  expect([world.minutes(), world.warnings]).toEqual([
    [],
    ["the history could not be written: the disk is full"],
  ]);
  world.isFull = false;
  await world.host.pass(MINUTE_MS);
  expect(world.minutes()).toEqual([[3, 300_000, 0]]);
});

claim("a device that is forgotten leaves nothing, also not what is not written yet", async (world) => {
  world.carry(100_000);
  world.uncounted = [[TV.name, { rx: 90_000, tx: 0 }]];
  await world.host.pass(MINUTE_MS);
  world.history.note("device", TV.name, { rx: 5, tx: 5 });
  expect(world.history.forget(TV)).toBe(true);
  world.carry(100_000);
  await world.host.pass(MINUTE_MS);
  world.history.write();
  expect(world.history.ring.totals({ resolution: "minute", ...EVER }).map(({ name }) => name)).toEqual([
    "main",
  ]);
  expect(world.history.forget(TV)).toBe(false);
  expect(Buffer.from(await databaseBytes(world)).includes(TV.name)).toBe(false);
});

/** With the log written back. */
async function databaseBytes(world: World): Promise<ArrayBuffer> {
  await world.cutPower();
  return Bun.file(join(world.directory, "portcullis.db")).arrayBuffer();
}

test("with --history off nothing is kept, and what was kept is removed", () =>
  inDirectory(async (directory) => {
    const before = new World(directory);
    await before.host.pass(0);
    before.carry(100_000);
    before.uncounted = [[TV.name, { rx: 90_000, tx: 0 }]];
    await before.host.pass(MINUTE_MS);
    expect(before.minutes()).toHaveLength(1);
    const world = new World(directory, false);
    await world.host.pass(0);
    expect([world.minutes(), world.hours(TV)]).toEqual([[], []]);
    world.carry(100_000);
    world.history.note("device", TV.name, { rx: 90_000, tx: 0 });
    await world.history.read(world.main);
    await world.host.pass(2 * MINUTE_MS);
    expect([world.minutes(), world.listings]).toEqual([[], 0]);
  }));

test("a long time is read in pieces, between which others have their turn, and gives the same", () =>
  inRing(async (ring) => {
    for (let minute = 0; minute < 300; minute++)
      ring.add(BEGIN + minute, [
        { ...MAIN, rx: 3, tx: 1 },
        { ...TV, rx: 2, tx: minute },
      ]);
    let turns = 0;
    let turn = setImmediate(function next() {
      turns++;
      turn = setImmediate(next);
    });
    const [from, to] = [BEGIN * MINUTE_MS, (BEGIN + 300) * MINUTE_MS];
    const page = await pageOf(
      { from: new Date(from).toISOString(), to: new Date(to).toISOString(), resolution: "minute" },
      {
        history: {
          isKept: true,
          ring,
          qualityIn: () => [],
          absences: { during: () => [] } as unknown as Absences,
          write: () => {},
        },
        journal: { during: () => ({ events: [], before: [], more: false }) },
        tunnels: ["main"],
        now: to,
      },
    );
    clearImmediate(turn);
    expect(turns).toBeGreaterThanOrEqual(24);
    expect(page.points).toHaveLength(300);
    expect(page.tunnels).toEqual([{ name: "main", rx_bytes: 900, tx_bytes: 300 }]);
    expect(page.devices).toEqual([{ id: TV.name, rx_bytes: 600, tx_bytes: 44_850 }]);
    const pieces = [...ring.pieces({ resolution: "minute", ...EVER })];
    expect(pieces).toHaveLength(25);
  }));

test("damaged figures are left out: negative ones, and more than any line carries", () =>
  inRing(async (ring, _, store) => {
    ring.add(BEGIN, [{ ...MAIN, rx: 3, tx: 1 }]);
    ring.add(BEGIN + 1, [{ ...MAIN, rx: 5, tx: 1 }]);
    const damage = (figure: number) =>
      store.atomically((database) =>
        database.run("UPDATE history_minutes SET rx = ? WHERE at = ?", [figure, BEGIN]),
      );
    for (const figure of [-1, -(2 ** 62), 2 ** 62]) {
      damage(figure);
      expect(ring.totals({ resolution: "minute", ...EVER })).toEqual([{ ...MAIN, rx: 5, tx: 1 }]);
      expect(ring.series(MAIN, { resolution: "minute", ...EVER })).toEqual([{ at: BEGIN + 1, rx: 5, tx: 1 }]);
    }
  }));

test("what is forgotten is gone at once, and its rows are removed piece by piece; a full disk delays that", () =>
  inRing(async (ring, _, store) => {
    for (let minute = 0; minute < 250; minute++)
      ring.add(BEGIN + minute, [
        { ...MAIN, rx: 3, tx: 1 },
        { ...TV, rx: 2, tx: 1 },
      ]);
    const rows = () =>
      store.view((database) => database.query("SELECT count(*) FROM history_minutes").values().flat()[0]);
    expect(ring.forget(TV)).toBe(true);
    expect(ring.totals({ resolution: "minute", ...EVER }).map(({ name }) => name)).toEqual(["main"]);
    expect(ring.forget(TV)).toBe(false);
    expect(rows()).toBeGreaterThan(250);
    // Meanwhile it is back, and is another one.
    ring.add(BEGIN + 250, [{ ...TV, rx: 7, tx: 7 }]);
    while (Number(rows()) > 251) await Bun.sleep(1);
    expect(ring.series(TV, { resolution: "minute", ...EVER })).toEqual([{ at: BEGIN + 250, rx: 7, tx: 7 }]);
    const subjects = () =>
      store.view((database) =>
        database.query("SELECT name FROM history_subjects ORDER BY name").values().flat(),
      );
    while (subjects().length > 2) await Bun.sleep(1);
    expect(subjects()).toEqual([TV.name, "main"]);
  }));

test("rows are bounded, and a clock that was wrong for a while costs few of the right ones", () =>
  inRing(async (ring) => {
    const one = [{ ...MAIN, rx: 1, tx: 1 }];
    const count = (resolution: "minute" | "hour") => ring.series(MAIN, { resolution, ...EVER }).length;
    for (let minute = 0; minute < 1_800; minute++) ring.add(BEGIN + minute, one);
    expect(count("minute")).toBeWithin(1_440, 1_501);
    // A year ahead for an hour and a half, then right again.
    for (let minute = 0; minute < 90; minute++) ring.add(BEGIN + 525_600 + minute, one);
    expect(ring.series(MAIN, { resolution: "minute", from: 0, to: BEGIN + 1_800 }).length).toBeGreaterThan(
      1_300,
    );
    for (let minute = 1_890; minute < 2_100; minute++) ring.add(BEGIN + minute, one);
    const left = ring.series(MAIN, { resolution: "minute", ...EVER }).map(({ at }) => at - BEGIN);
    expect(left.filter((minute) => minute > 2_100).length).toBeLessThan(30);
    expect(left).toContain(2_099);
    expect(count("minute")).toBeWithin(1_440, 1_501);
  }));

test("a write removes two minutes at most, and who has no rows any more is looked for in pieces", () =>
  inRing(async (ring, _, store) => {
    // As versions have left it that removed old minutes once an hour.
    store.atomically((database) => {
      for (const [index, name] of ["main", "gone", "back"].entries())
        database.query("INSERT INTO history_subjects VALUES (?, 'tunnel', ?)").run(index + 1, name);
      for (let minute = -1_500; minute < 0; minute++)
        database.query("INSERT INTO history_minutes VALUES (?, 1, 1, 1)").run(BEGIN + minute);
    });
    let turns = 0;
    let turn = setImmediate(function next() {
      turns++;
      turn = setImmediate(next);
    });
    const one = { ...MAIN, rx: 1, tx: 1 };
    const count = () => ring.series(MAIN, { resolution: "minute", ...EVER }).length;
    for (let minute = 0, before = count(); minute < 100; minute++) {
      ring.add(BEGIN + minute, [one]);
      const after = count();
      expect(before + 1 - after).toBeWithin(0, 3);
      before = after;
    }
    expect(count()).toBe(1_440);
    // What is there is read meanwhile. The clock was moved back.
    ring.add(BEGIN - 5_000, [{ ...one, name: "back" }]);
    const subjects = () =>
      store.view((database) =>
        database.query("SELECT name FROM history_subjects ORDER BY id").values().flat(),
      );
    while (subjects().length === 3) await new Promise((resolve) => setImmediate(resolve));
    clearImmediate(turn);
    expect(subjects()).toEqual(["main", "back"]);
    expect(turns).toBeGreaterThanOrEqual(120);
  }));

long("It writes three months, minute by minute.").test(
  "three months of a home are a day of minutes and two months of hours, in two megabytes",
  () =>
    inRing(async (ring, directory) => {
      const days = 92;
      const devices = Array.from({ length: 12 }, (_, index) => ({
        ...TV,
        name: `02:00:00:00:01:${index + 10}`,
      }));
      // By minute at the end, and by ten minutes before.
      const last = BEGIN + days * 1_440;
      const amount = (minute: number, index: number) => ({
        rx: 1_000 + (minute % 60) * (index + 1),
        tx: 500 + index,
      });
      for (let minute = BEGIN; minute < last; minute += minute < last - 2 * 1_440 ? 10 : 1)
        ring.add(
          minute,
          [MAIN, ...devices].map((who, index) => ({ ...who, ...amount(minute, index) })),
        );
      const minutes = ring.series(MAIN, { resolution: "minute", ...EVER });
      const hours = ring.series(MAIN, { resolution: "hour", ...EVER });
      expect(minutes.length).toBeWithin(1_440, 1_501);
      expect(minutes.at(-1)).toEqual({ at: last - 1, ...amount(last - 1, 0) });
      expect(minutes[0]?.at).toBe(last - minutes.length);
      expect(hours.length).toBeWithin(1_464, 1_489);
      expect(hours[0]?.at).toBe(Math.floor(last / 60) - hours.length);
      // Six times an hour, and later each minute.
      const sixTimes = [0, 10, 20, 30, 40, 50].reduce((sum, minute) => sum + amount(minute, 0).rx, 0);
      expect(hours[0]).toEqual({ at: hours[0]?.at ?? 0, rx: sixTimes, tx: 6 * 500 });
      const each = Array.from({ length: 60 }, (_, minute) => amount(minute, 0).rx);
      expect(hours.at(-1)?.rx).toBe(each.reduce((sum, rx) => sum + rx, 0));
      expect(ring.totals({ resolution: "hour", ...EVER })).toHaveLength(13);
      expect(statSync(join(directory, "portcullis.db")).size).toBeLessThan(2_000_000);
    }),
  120_000,
);

test("no more than 300 are kept, so that ever new devices fill neither the disk nor the place of a tunnel", () =>
  inRing(async (ring) => {
    const many = Array.from({ length: 500 }, (_, index) => ({ ...TV, name: `${index}`, rx: 1, tx: 1 }));
    ring.add(BEGIN, [{ ...MAIN, rx: 1, tx: 1 }, ...many]);
    expect(ring.totals({ resolution: "minute", ...EVER })).toHaveLength(300);
    expect(ring.series(MAIN, { resolution: "hour", ...EVER })).toHaveLength(1);
    const late = { ...MAIN, name: "late" };
    ring.add(BEGIN, [{ ...late, rx: 1, tx: 1 }]);
    expect(ring.series(late, { resolution: "hour", ...EVER })).toHaveLength(1);
  }));

const Minutes = fc.array(
  fc.record({
    minute: fc.integer({ min: 0, max: 400 }),
    amounts: fc.array(
      fc.record({
        kind: fc.constantFrom<Subject["kind"]>("tunnel", "device"),
        name: fc.constantFrom("one", "two"),
        rx: fc.maxSafeNat().map((bytes) => bytes % 2 ** 40),
        tx: fc.nat(),
      }),
      { maxLength: 4 },
    ),
  }),
  { maxLength: 30 },
);

sampled.test(
  "an hour is the sum of its minutes, and all of it the sum of what was added, in whatever order",
  () =>
    fc.assert(
      fc.asyncProperty(Minutes, (all) =>
        inRing(async (ring) => {
          for (const { minute, amounts } of all) ring.add(BEGIN + minute, amounts);
          for (const kind of ["tunnel", "device"] as const)
            for (const name of ["one", "two"]) {
              const who = { kind, name };
              const hours = new Map<number, Carried>();
              for (const { at, rx, tx } of ring.series(who, { resolution: "minute", ...EVER })) {
                const { rx: rxBefore, tx: txBefore } = hours.get(Math.floor(at / 60)) ?? { rx: 0, tx: 0 };
                hours.set(Math.floor(at / 60), { rx: rxBefore + rx, tx: txBefore + tx });
              }
              const found = ring.series(who, { resolution: "hour", ...EVER });
              expect(found).toEqual(
                [...hours].sort(([a], [b]) => a - b).map(([at, sum]) => ({ at, ...sum })),
              );
              const added = all.flatMap(({ amounts }) =>
                amounts.filter((each) => each.kind === kind && each.name === name),
              );
              const total = added.reduce((sum, { rx, tx }) => sum + rx + tx, 0);
              expect(found.reduce((sum, { rx, tx }) => sum + rx + tx, 0)).toBe(total);
            }
        }),
      ),
      { numRuns: runs(60) },
    ),
  120_000,
);

function inRing(work: (ring: Ring, directory: string, store: Store) => Promise<void>): Promise<void> {
  return inDirectory(async (directory) => {
    const store = Store.open(directory, 0);
    const log = { warn: () => {} };
    const { ring } = new History({ clock: new FakeHost(), store, log, isKept: true });
    await work(ring, directory, store);
    store.close();
  });
}

claim("devices that are invented while the disk is full do not fill the memory", async (world) => {
  world.isFull = true;
  const named = (number: number): Subject => ({ kind: "device", name: `device ${number}` });
  for (let number = 1; number <= 1_500; number += 1)
    world.history.note("device", named(number).name, { rx: 1, tx: 0 });
  expect([world.history.forget(named(1)), world.history.forget(named(1_500))]).toEqual([true, false]);
});

test("figures that cannot be read do not end the service", async () => {
  const fault = () => {
    throw new Error("database disk image is malformed");
  };
  const store = { read: fault, write: fault, forget: fault, view: fault, atomically: fault };
  const clock = new FakeHost();
  clock.patient = true;
  const stopping = new AbortController();
  const history = new History({ clock, store, log: { warn: () => {} }, isKept: true });
  const devices = {
    count: async () => history.note(TV.kind, TV.name, { rx: 1e9, tx: 1 }),
    checkpoint: () => fault,
    direct: { devices: [] },
  };
  const watched = history.watch(
    { tunnels: () => [], devices: devices as unknown as Sources["devices"] },
    stopping.signal,
  );
  await clock.pass(3 * MINUTE_MS);
  stopping.abort();
  await clock.pass(MINUTE_MS);
  await watched;
});

test("the times in which the service did not run are kept, and so is when it ran first", () =>
  inDirectory(async (directory) => {
    const store = Store.open(directory, 0);
    const HOUR = 3_600_000;
    const started = (now: number, ends: [first: number | null, last: number | null] = [null, null]) => {
      const absences = new Absences(store);
      absences.begin(now, ...ends);
      return absences;
    };
    const EVERYTHING = { from: 0, until: 100 * HOUR };
    const first = started(10 * HOUR);
    first.note(10 * HOUR + 60_000);
    first.end(11 * HOUR);
    expect(first.during(EVERYTHING)).toEqual([{ from: 0, until: 10 * HOUR }]);
    // A restart is no absence.
    started(11 * HOUR + 60_000).end(12 * HOUR);
    const third = started(14 * HOUR);
    const stopped = { from: 12 * HOUR, until: 14 * HOUR };
    expect(third.during(EVERYTHING)).toEqual([{ from: 0, until: 10 * HOUR }, stopped]);
    // After a power cut: by the saved clock, or by the last figures.
    store.write("clock", String(15 * HOUR));
    const fourth = started(16 * HOUR, [10 * HOUR, 15 * HOUR + 60_000]);
    const cut = { from: 15 * HOUR + 60_000, until: 16 * HOUR };
    expect(fourth.during({ from: 13 * HOUR, until: 100 * HOUR })).toEqual([
      { from: 13 * HOUR, until: 14 * HOUR },
      cut,
    ]);
    // A clock that is set once there is a tunnel.
    fourth.note(20 * HOUR);
    expect(fourth.during({ from: 17 * HOUR, until: 18 * HOUR })).toEqual([
      { from: 17 * HOUR, until: 18 * HOUR },
    ]);
    // What an earlier version has kept counts as its time.
    fourth.clear();
    expect(started(21 * HOUR, [5 * HOUR, 21 * HOUR]).during(EVERYTHING)).toEqual([
      { from: 0, until: 5 * HOUR },
    ]);
    store.close();
  }));

claim(
  "quality is kept by minute and by hour where something was carried, and written every 15 minutes",
  async (world) => {
    const { host, history } = world;
    const told = (name: string, resolution: "minute" | "hour") =>
      history.qualityIn(name, { resolution, ...EVER }).map(({ at, ...figures }) => ({
        at: at - (resolution === "minute" ? BEGIN : BEGIN / 60),
        ...figures,
      }));
    for (let minute = 0; minute < 20; minute++) {
      for (const ms of [20, 21.5, null]) history.noteAsked("main", ms);
      history.noteAsked(UPLINK, 1);
      // An unused tunnel is asked, too, but nobody needs to know.
      if (minute % 2 === 0) world.carry(1_000_000);
      await host.pass(MINUTE_MS);
    }
    expect(told("main", "minute").map(({ at }) => at)).toEqual([0, 2, 4, 6, 8, 10, 12, 14]);
    await history.stop();
    expect(told("main", "minute")[1]).toEqual({ at: 2, asked: 3, lost: 1, took: 415, steps: 30 });
    expect(told("main", "minute").map(({ at }) => at)).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
    expect(told("main", "hour")).toEqual([{ at: 0, asked: 30, lost: 10, took: 4_150, steps: 285 }]);
    expect(told(UPLINK, "hour")).toEqual([{ at: 0, asked: 10, lost: 0, took: 100, steps: 0 }]);
    expect(told("tv", "hour")).toEqual([]);
  },
);

claim("quality that a full disk did not take is written later", async (world) => {
  const { host, history } = world;
  world.isFull = true;
  for (let minute = 0; minute < 20; minute++) {
    history.noteAsked("main", 20);
    world.carry(1_000_000);
    await host.pass(MINUTE_MS);
  }
  world.isFull = false;
  history.write();
  expect(history.qualityIn("main", { resolution: "minute", ...EVER })).toHaveLength(20);
});

claim("a full disk is reported once, also while no quality waits", async (world) => {
  const { host, history } = world;
  world.isFull = true;
  for (let minute = 0; minute < 60; minute++) {
    world.carry(1_000_000);
    await host.pass(MINUTE_MS);
    history.write();
  }
  expect(world.warnings).toEqual(["the history could not be written: the disk is full"]);
});

test("as many minutes and hours of quality are kept as of traffic, and a wrong clock does not remove them", () =>
  inDirectory(async (directory) => {
    const store = Store.open(directory, 0);
    const ring = new QualityRing(store);
    const told = { asked: 6, lost: 0, took: 1_200, steps: 60 };
    const add = (from: number, count: number) =>
      ring.addAll(Array.from({ length: count }, (_, n) => ({ minute: from + n, name: "main", told })));
    add(BEGIN, 1_800);
    const minutes = () => ring.series("main", { resolution: "minute", ...EVER }).map(({ at }) => at - BEGIN);
    expect([minutes().length, minutes()[0]]).toEqual([1_440, 360]);
    add(BEGIN + 525_600, 10);
    expect(minutes().filter((at) => at < 1_800).length).toBeGreaterThan(1_400);
    expect(ring.series("main", { resolution: "hour", ...EVER })).toHaveLength(31);
    ring.clear();
    expect(minutes()).toEqual([]);
    store.close();
  }));

test("with --history off no quality is kept, and what was kept is removed", () =>
  inDirectory(async (directory) => {
    const kept = new World(directory);
    await kept.host.pass(0);
    kept.history.noteAsked("main", 20);
    kept.carry(1_000_000);
    await kept.host.pass(MINUTE_MS);
    await kept.history.stop();
    const off = new World(directory, false);
    await off.host.pass(0);
    off.history.noteAsked("main", 20);
    await off.host.pass(20 * MINUTE_MS);
    expect(off.history.qualityIn("main", { resolution: "hour", ...EVER })).toEqual([]);
  }));
