import { afterEach, beforeEach, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { type Address, mustParseAddress, type Prefix } from "../../src/base/address.ts";
import type { Mac } from "../../src/base/mac.ts";
import { Unsaved } from "../../src/base/unsaved.ts";
import { Assignments } from "../../src/devices/assignments.ts";
import { allByTime } from "../../src/devices/by-time.ts";
import { type Overridable, oneOf } from "../../src/devices/column.ts";
import { withDirect } from "../../src/devices/direct.ts";
import { type DeviceId, EVERYBODY_ELSE, type LimitId } from "../../src/devices/id.ts";
import { Limits } from "../../src/devices/limits.ts";
import { NETWORKS } from "../../src/devices/network-record.ts";
import { QUOTAS } from "../../src/devices/quota.ts";
import { Quotas } from "../../src/devices/quotas.ts";
import { LIMITS } from "../../src/devices/rate.ts";
import { type DeviceRecord, idsGiven, withRecord, withScheduled } from "../../src/devices/record.ts";
import type { Quota, Rate } from "../../src/devices/values.ts";
import type { PolicyPart } from "../../src/killswitch/policy.ts";
import { markOfDevice, markOfRemote } from "../../src/network/device-mark.ts";
import { networkName } from "../../src/network/limits-table.ts";
import { networkIdOf } from "../../src/shared/network-id.ts";
import { quotaText } from "../../src/shared/quotas.ts";
import { Store } from "../../src/store/store.ts";
import { FakeHost } from "../fake/host.ts";
import { newDirectory } from "../tunnel/directory.ts";

const TV = "02:00:00:00:00:20" as Mac;
const CAMERA = "02:00:00:00:00:30" as Mac;
const PHONE = "10.200.7.2/32" as DeviceId;

/** What the table's lines call the marks of their connections. */
const NAMES = new Map([
  [markOfDevice(TV), "TV"],
  [markOfDevice(CAMERA), "CAMERA"],
  [markOfRemote(PHONE as Prefix), "PHONE"],
]);

let directory: string;
let store: Store;
let host: FakeHost;
let limits: World;
let road: Address[];
let known: Address[];
let warnings: string[];
let usedUp: string[];
/** Whose quota was used up, and began again. */
let renewed: LimitId[];
/** What the kill switch was given. */
let exits: PolicyPart[];
let zone: string;

beforeEach(async () => {
  directory = newDirectory();
  store = Store.open(directory, 0);
  host = new FakeHost();
  host.patient = true;
  road = ["10.200.7.2", "fd00:200::2"].map(mustParseAddress);
  known = [];
  warnings = [];
  usedUp = [];
  renewed = [];
  exits = [];
  zone = "UTC";
  limits = await fresh();
});
afterEach(() => {
  store.close();
  rmSync(directory, { recursive: true });
});

/** What is decided about rates and quotas, and the kernel's table. */
class World {
  readonly quotas = new Quotas({
    ...{ host, store },
    zone: () => zone,
    onUsedUp: (id, quota) => void usedUp.push(`${id} ${quotaText(quota)}`),
    onRenewed: (id) => void renewed.push(id),
    log: { warn: (message) => void warnings.push(message) },
  });
  readonly table = new Limits({
    ...{ host, quotas: this.quotas },
    addressesOf: (id) => (id === PHONE ? road : id === TV ? known : []),
    log: { warn: (message) => void warnings.push(message) },
  });
  readonly assignments = new Assignments({
    store,
    killSwitch: { update: async (_, part) => void exits.push(part) },
    inForce: { of: ([first]) => first, keep: () => {} },
    fixed: { apply: async () => {} },
    limits: this.table,
    deviceAt: () => null,
    linkOf: () => null,
    isRemote: (id) => id === PHONE,
    onExits: () => {},
    onChange: (before, after) => this.quotas.changed(before.quota, after.quota),
  });
  readonly byTime = allByTime({
    assignments: this.assignments,
    assertExit: () => {},
    withSeen: (decisions) => decisions,
    onChange: () => {},
  });

  get current() {
    return this.assignments.current;
  }
  get ids() {
    return idsGiven(this.current);
  }
  get rated() {
    return this.table.rated;
  }
  get scheduled() {
    return this.byTime.rate.scheduled;
  }
  get scheduledQuotas() {
    return this.byTime.quota.scheduled;
  }
  of = (id: LimitId) => this.table.of(id);
  quotaOf = (id: LimitId) => this.table.quotaOf(id);
  givenOf = (id: LimitId) => oneOf(this.current.rate, id);
  load = () => this.assignments.reload();
  insideIs = (inside: readonly string[]) => this.table.insideIs(inside);
  check = () => this.table.check();
  count = () => this.table.count();
  set = (id: LimitId, rate: Rate | null) => this.give(id, { rate });
  setQuota = (id: LimitId, quota: Quota | null) => this.give(id, { quota });
  schedule = (id: LimitId, rate: Rate | null | undefined) => told(this.byTime.rate.schedule(id, rate));
  scheduleQuota = (id: LimitId, quota: Quota | null | undefined) =>
    told(this.byTime.quota.schedule(id, quota));

  /** Another change that gives both. */
  giveBack(id: LimitId, { own, scheduled }: Overridable<Rate>): Promise<Unsaved | null> {
    return told(
      this.assignments.change((decisions) =>
        withScheduled(withRecord(decisions, id, { rate: own }), "rate", id, scheduled),
      ),
    );
  }

  async retry(): Promise<void> {
    await this.assignments.decision.retry();
    await this.table.retry();
  }

  private give(id: LimitId, record: Partial<DeviceRecord>): Promise<Unsaved | null> {
    return told(this.assignments.change((decisions) => withRecord(decisions, id, record)));
  }
}

/** What is in force and could not be saved. */
async function told(change: Promise<void>): Promise<Unsaved | null> {
  try {
    await change;
    return null;
  } catch (error) {
    if (error instanceof Unsaved) return error;
    throw error;
  }
}

/** As the service starts. */
async function fresh(): Promise<World> {
  const made = new World();
  await made.load();
  await made.insideIs(["lan0"]);
  return made;
}

/** What the kernel has, without the space before each line. */
const all = () =>
  (host.limitsTable ?? "")
    .split("\n")
    .map((line) =>
      line.trim().replace(/(?<!\d)\d{8,10}(?!\d)/g, (number) => NAMES.get(Number(number)) ?? number),
    );
/** The lines with this. */
const lines = (part: string) => all().filter((line) => line.includes(part));
/** The rules of a chain. */
const chain = (name: string) => {
  const from = all().indexOf(`chain ${name} {`) + 1;
  return from === 0 ? null : all().slice(from, all().indexOf("}", from));
};

const loads = () => host.commands.filter((command) => command === "nft -f -").length;

test("without a limit there is no table, and nothing was run", async () => {
  expect([host.limitsTable, host.commands]).toEqual([null, []]);
  await limits.check();
  expect(host.commands).toEqual([]);
});

test("the kernel has each device's rates in bytes a second, and none when the last is gone", async () => {
  await limits.set(TV, { down: 20, up: 0.5 });
  await limits.set(CAMERA, { down: null, up: 1 });
  expect(lines("rate over")).toEqual([
    "rate over 2500000 bytes/second burst 65536 bytes",
    "rate over 62500 bytes/second burst 65536 bytes",
    "rate over 125000 bytes/second burst 65536 bytes",
  ]);
  expect(lines("elements")).toEqual([
    "elements = { TV : goto down_TV, CAMERA : goto down_CAMERA }",
    `elements = { ${TV} : goto up_TV, ${CAMERA} : goto up_CAMERA }`,
  ]);
  expect(["down_TV", "up_TV", "down_CAMERA", "up_CAMERA", "down_1", "up_1"].map(chain)).toEqual([
    ['limit name "down_TV" drop'],
    ["ct mark set TV", 'limit name "up_TV" drop'],
    [],
    ["ct mark set CAMERA", 'limit name "up_CAMERA" drop'],
    [],
    [],
  ]);
  await limits.set(TV, null);
  // A connection of the TV still has its mark, and must not have the camera's limit.
  expect(lines("elements")).toEqual([
    "elements = { CAMERA : goto down_CAMERA }",
    `elements = { ${CAMERA} : goto up_CAMERA }`,
  ]);
  expect([chain("up_TV"), chain("down_TV")]).toEqual([null, null]);
  await limits.set(TV, { down: 20, up: 0.5 });
  expect(lines(`elements = { ${CAMERA}`)).toEqual([
    `elements = { ${CAMERA} : goto up_CAMERA, ${TV} : goto up_TV }`,
  ]);
  await limits.set(TV, null);
  await limits.set(CAMERA, null);
  expect(host.limitsTable).toBeNull();
});

test("everybody else shares one rate, and a device with its own is not among them", async () => {
  await limits.set(EVERYBODY_ELSE, { down: 10, up: null });
  expect(lines("elements")).toEqual([]);
  expect([chain("up_1"), chain("down_1")]).toEqual([[], ['limit name "down_1" drop']]);
  // What comes for an address that no device is known to have counts as theirs.
  expect([chain("sent")?.at(-1), chain("received")?.at(-1)]).toEqual(["goto up_1", "goto down_1"]);
  await limits.set(TV, { down: 20, up: null });
  expect(lines("elements")).toEqual([
    "elements = { TV : goto down_TV }",
    `elements = { ${TV} : goto up_TV }`,
  ]);
  expect([chain("up_TV"), chain("down_TV")]).toEqual([["ct mark set TV"], ['limit name "down_TV" drop']]);
  expect([limits.ids, limits.of(EVERYBODY_ELSE)]).toEqual([[TV], { down: 10, up: null }]);
  limits = await fresh();
  expect(limits.of(EVERYBODY_ELSE)).toEqual({ down: 10, up: null });
});

const A_DAY: Quota = { megabytes: 500, every: "day", at_end: "blocked" };
const GUESTS = networkIdOf("eth0.20");
const NAME = networkName("eth0.20");
const MATCHES = {
  up: ['iifname "eth0.20" oifname != "eth0.20"', 'iifname "eth0.20" oifname "eth0.20" ct direction original'],
  down: ['oifname "eth0.20" iifname != "eth0.20"', 'oifname "eth0.20" iifname "eth0.20" ct direction reply'],
} as const;
const matched = (way: "up" | "down", rule: string) => MATCHES[way].map((match) => `${match} ${rule}`);

test("a network has its rate for all of its devices together, and costs only the packets of networks", async () => {
  await limits.set(GUESTS, { down: 10, up: 2 });
  expect(chain("forwarded")?.slice(1)).toEqual(["jump network_rates"]);
  expect(chain("network_rates")).toEqual([
    ...matched("down", `limit name "down_${NAME}" drop`),
    ...matched("up", `limit name "up_${NAME}" drop`),
  ]);
  expect(lines("rate over").toSorted()).toEqual([
    "rate over 1250000 bytes/second burst 65536 bytes",
    "rate over 250000 bytes/second burst 65536 bytes",
  ]);
  expect([limits.rated, limits.of(GUESTS)]).toEqual([[], { down: 10, up: 2 }]);
  store.write(NETWORKS.key, JSON.stringify([{ interface: "eth0.20" }]));
  limits = await fresh();
  expect(limits.of(GUESTS)).toEqual({ down: 10, up: 2 });
  await limits.set(GUESTS, null);
  expect(host.limitsTable).toBeNull();
});

test("what drops comes before what counts: a device's rate, its network's, its quota, its network's", async () => {
  await limits.set(TV, { down: 20, up: null });
  await limits.setQuota(TV, A_DAY);
  expect(chain("forwarded")?.at(-1)).toBe("goto received");
  await limits.set(GUESTS, { down: 10, up: null });
  await limits.setQuota(GUESTS, { megabytes: 5, every: "month", at_end: "blocked" });
  expect(chain("forwarded")?.slice(1)).toEqual(["jump by_device", "jump network_quotas"]);
  expect(chain("by_device")).toEqual(['iifname { "lan0" } goto sent', "goto received"]);
  expect(chain("down_TV")).toEqual([
    'limit name "down_TV" drop',
    "jump network_rates",
    'quota name "used_2026_01_01_02_00_00_00_00_20" drop',
  ]);
  expect(chain("down_1")).toEqual(["jump network_rates"]);
  const quota = `quota name "used_2026_01_${NAME}" drop`;
  expect(chain("network_quotas")).toEqual([...matched("down", quota), ...matched("up", quota)]);
  // Known to be used up: nothing more counts for a device.
  host.useQuotas(6_000_000);
  await limits.check();
  expect(chain("network_rates")?.slice(0, 2)).toEqual(['iifname "eth0.20" drop', 'oifname "eth0.20" drop']);
  expect(usedUp.filter((each) => each.startsWith("network"))).toEqual([
    "network:eth0.20 5 MB a month, then blocked",
  ]);
  await limits.setQuota(GUESTS, null);
  await limits.set(GUESTS, null);
  expect([chain("network_rates"), chain("forwarded")?.at(-1)]).toEqual([null, "goto received"]);
});

test("no two networks share a count, whatever their interfaces are called", async () => {
  const links = ["eth0.2", "eth0-2", "eth0_2", "ETH0.2", "eth0"];
  for (const link of links) await limits.setQuota(networkIdOf(link), A_DAY);
  expect(new Set(lines("quota used_")).size).toBe(links.length);
});

test("the limit of all others is nothing to a network, whose own one opens nothing", async () => {
  await limits.set(EVERYBODY_ELSE, { down: 1, up: 1 });
  await limits.setQuota(EVERYBODY_ELSE, A_DAY);
  const none = { down: 100, up: null };
  expect(limits.byTime.rate.loosens(GUESTS, undefined, none)).toBe(false);
  expect(limits.byTime.rate.loosens(GUESTS, none, undefined)).toBe(true);
  expect(limits.byTime.quota.loosens(GUESTS, undefined, A_DAY)).toBe(false);
  // Positive control: a device leaves what it has shared.
  expect(limits.byTime.rate.loosens(TV, undefined, none)).toBe(true);
  expect(limits.byTime.quota.loosens(TV, undefined, A_DAY)).toBe(true);
});

test("a remote device is known by its addresses, as they are now", async () => {
  await limits.set(PHONE, { down: 5, up: 5 });
  expect(lines("saddr")).toEqual([
    "ether saddr vmap @macs",
    "ip saddr vmap @road_4",
    "ip6 saddr vmap @road_6",
    "ct mark 0 ct mark set jhash ether saddr mod 4294967293 seed 0x1 offset 2",
  ]);
  expect(lines("200")).toEqual([
    "elements = { 10.200.7.2 : goto up_PHONE }",
    "elements = { fd00:200::2 : goto up_PHONE }",
    "add element inet portcullis_limits to_4 { 10.200.7.2 : PHONE }",
    "add element inet portcullis_limits to_6 { fd00:200::2 : PHONE }",
  ]);
  road = [mustParseAddress("10.201.7.2")];
  await limits.insideIs(["lan0", "portcullis-r"]);
  expect(lines("elements = { 10.")).toEqual(["elements = { 10.201.7.2 : goto up_PHONE }"]);
  expect(lines("iifname")).toEqual(['iifname { "lan0", "portcullis-r" } goto sent']);
});

test("limits outlive the service, and what a former run has left is removed", async () => {
  await limits.set(TV, { down: 20, up: 5 });
  limits = await fresh();
  expect([limits.of(TV), lines("rate over").length]).toEqual([{ down: 20, up: 5 }, 2]);
  store.write(LIMITS.key, "[]");
  limits = await fresh();
  await limits.retry();
  expect(host.limitsTable).toBeNull();
});

test("a change touches only what it is about: what passes meanwhile counts for other quotas", async () => {
  await limits.setQuota(TV, QUOTA);
  await limits.setQuota(EVERYBODY_ELSE, { ...QUOTA, at_end: "told" });
  const run = host.run.bind(host);
  let loaded = "";
  host.run = (argv, options) => {
    if (argv.join(" ") !== "nft -f -") return run(argv, options);
    loaded = `${options?.stdin}`;
    host.useQuotas(10_000);
    return run(argv, options);
  };
  for (const down of [4, 5, null, 6]) await limits.set(CAMERA, down === null ? null : { down, up: null });
  await limits.count();
  expect([limits.quotaOf(TV)?.usedBytes, limits.quotaOf(EVERYBODY_ELSE)?.usedBytes]).toEqual([
    40_000, 40_000,
  ]);
  await limits.set(CAMERA, { down: 7, up: null });
  const camera = markOfDevice(CAMERA);
  expect(loaded.split("\n").slice(0, 3)).toEqual([
    `flush chain inet portcullis_limits down_${camera}`,
    `delete limit inet portcullis_limits down_${camera}`,
    `add limit inet portcullis_limits down_${camera} { rate over 875000 bytes/second burst 65536 bytes }`,
  ]);
  expect(lines("rate over")).toEqual(["rate over 875000 bytes/second burst 65536 bytes"]);
});

test("a table that another program removes is made again, and one that stands stays", async () => {
  await limits.set(TV, { down: 20, up: 5 });
  await limits.check();
  expect(loads()).toBe(1);
  host.removeLimits();
  await limits.check();
  expect([loads(), host.limitsTable === null]).toEqual([2, false]);
});

test("what a device receives before it sends is known by its addresses, and no limit begins again when they change", async () => {
  await limits.set(EVERYBODY_ELSE, { down: 10, up: null });
  known = ["192.168.7.20", "fd00::20"].map(mustParseAddress);
  await limits.set(TV, { down: 20, up: null });
  const added = () =>
    lines("add element").map((line) => line.replace("add element inet portcullis_limits ", ""));
  expect(added()).toEqual(["to_4 { 192.168.7.20 : TV }", "to_6 { fd00::20 : TV }"]);
  expect(chain("received")).toEqual([
    "ct mark vmap @connections",
    "ct mark != 0 goto down_1",
    "ct mark set ip daddr map @to_4 ct mark vmap @connections",
    "ct mark set ip6 daddr map @to_6 ct mark vmap @connections",
    "goto down_1",
  ]);
  // Remote devices cost nothing while none is limited.
  expect(lines("@road")).toEqual([]);
  const before = loads();
  await limits.retry();
  expect(loads()).toBe(before);
  const given: unknown[] = [];
  const { run } = host;
  host.run = (argv, options) => {
    given.push(options?.stdin);
    return run.call(host, argv, options);
  };
  known = [mustParseAddress("192.168.7.21")];
  await limits.retry();
  expect([added(), loads()]).toEqual([["to_4 { 192.168.7.21 : TV }"], before + 1]);
  expect(given[0]).not.toContain("delete table");
  // Without the table it is made again.
  known = [];
  host.removeLimits();
  await limits.retry();
  await limits.retry();
  expect([added(), lines("rate over").length]).toEqual([[], 2]);
});

test("a table that is gone or empty as soon as it is loaded is told once, and made again", async () => {
  await limits.set(TV, { down: 20, up: 5 });
  const { run } = host;
  for (const left of ["table inet portcullis_limits {\n}\n", null]) {
    host.removeLimits();
    host.run = async (argv, options) => {
      const listed = await run.call(host, argv, options);
      if (!argv.includes("list")) return listed;
      return left ?? Promise.reject(new Error("No such file or directory"));
    };
    await limits.check();
    await limits.retry();
    expect(warnings.filter((line) => !line.startsWith("another program has altered"))).toEqual([
      "devices are not limited: the kernel does not list the table inet portcullis_limits as it was given",
    ]);
    host.run = run;
    await limits.retry();
    expect(lines("rate over")).toHaveLength(2);
  }
});

test("a kernel that refuses changes nothing and the client is told; later it is tried again", async () => {
  await limits.set(TV, { down: 20, up: 5 });
  host.fails = () => "before";
  await expect(limits.set(TV, { down: 1, up: 1 })).rejects.toThrow();
  expect([limits.of(TV), LIMITS.read(store)]).toEqual([
    { down: 20, up: 5 },
    [{ id: TV, rate: { down: 20, up: 5 } }],
  ]);
  await limits.retry();
  await limits.retry();
  expect(warnings).toEqual([expect.stringContaining("devices are not limited: ")]);
  host.fails = () => null;
  await limits.retry();
  expect(lines("rate over")[0]).toContain("2500000 ");
});

test("a device is blocked at once, and that is answered, while the limits of others hang", async () => {
  await limits.assignments.change((all) =>
    withRecord(all, PHONE, { exit: [{ to: "tunnel", name: "main" }] }),
  );
  const hang = Promise.withResolvers<void>();
  const run = host.run.bind(host);
  host.run = async (...given) => {
    if (given[0][0] === "nft") await hang.promise;
    return run(...given);
  };
  const whole = limits.assignments.change((all) =>
    withRecord(all, TV, { name: "TV", icon: "tv", exit: [{ to: "blocked" }], rate: { down: 1, up: 1 } }),
  );
  await limits.assignments.change((all) => withRecord(all, PHONE, { exit: [{ to: "blocked" }] }));
  expect(exits.at(-1)?.routed).toEqual([{ prefix: PHONE as Prefix, exit: { to: "blocked" } }]);
  host.fails = () => "before";
  hang.resolve();
  await expect(whole).rejects.toMatchObject({ code: "kernel_refused" });
  expect([exits.at(-1)?.devices, store.devices(), limits.of(TV)]).toEqual([
    [],
    [{ id: PHONE, name: null, exit: "blocked" }],
    null,
  ]);
});

test("direct is withdrawn at once from a device whose limit hangs, and what waits does not bring it back", async () => {
  await limits.assignments.change((all) => withDirect(all, true));
  const hang = Promise.withResolvers<void>();
  const run = host.run.bind(host);
  host.run = async (...given) => {
    if (given[0][0] === "nft") await hang.promise;
    return run(...given);
  };
  const rate = { down: 1, up: 1 };
  const first = limits.assignments.change((all) => withRecord(all, TV, { exit: [{ to: "direct" }], rate }));
  const waiting = limits.assignments.change((all) =>
    withRecord(all, PHONE, { exit: [{ to: "direct" }], rate }),
  );
  const withdrawn = limits.assignments.change((all) => withDirect(all, false));
  await limits.assignments.change((all) => withRecord(all, CAMERA, { name: "camera" }));
  expect([exits.at(-1)?.devices, store.devices().filter(({ exit }) => exit !== null)]).toEqual([[], []]);
  hang.resolve();
  await Promise.all([first, waiting, withdrawn]);
  expect(exits.flatMap(({ routed }) => routed ?? []).filter(({ exit }) => exit?.to === "direct")).toEqual([]);
  expect([limits.current.directAllowed, limits.of(TV), limits.of(PHONE)]).toEqual([false, rate, rate]);
});

test("a schedule's rate holds until it ends or a person decides, over a restart, too, and the own one afterwards", async () => {
  const own = { down: 20, up: null };
  await limits.set(TV, own);
  await limits.schedule(TV, { down: 5, up: 1 });
  expect([limits.of(TV), limits.scheduled, lines("rate over 625000 ").length]).toEqual([
    { down: 5, up: 1 },
    [TV],
    1,
  ]);
  expect(LIMITS.read(store)).toEqual([{ id: TV, rate: own }]);
  limits = await fresh();
  expect([limits.of(TV), limits.scheduled]).toEqual([{ down: 5, up: 1 }, [TV]]);
  await limits.schedule(TV, null);
  expect([limits.of(TV), limits.ids, limits.rated, host.limitsTable]).toEqual([null, [TV], [], null]);
  await limits.schedule(TV, undefined);
  expect([limits.of(TV), limits.scheduled]).toEqual([own, []]);
  await limits.schedule(TV, { down: 5, up: 1 });
  await limits.set(TV, { down: 10, up: null });
  expect([limits.of(TV), limits.scheduled]).toEqual([{ down: 10, up: null }, []]);
  // A request that fails afterwards gives both back.
  await limits.schedule(TV, { down: 5, up: 1 });
  const former = limits.givenOf(TV);
  await limits.set(TV, null);
  await limits.giveBack(TV, former);
  await limits.load();
  expect([limits.of(TV), limits.givenOf(TV).own]).toEqual([
    { down: 5, up: 1 },
    { down: 10, up: null },
  ]);
  store.write(
    "scheduled_rates",
    JSON.stringify({ tv: null, [TV]: { down: null, up: null }, [CAMERA]: null, [EVERYBODY_ELSE]: null }),
  );
  limits = await fresh();
  expect(limits.scheduled).toEqual([CAMERA, EVERYBODY_ELSE]);
});

test("a schedule's shared rate holds for everybody else under the same rules", async () => {
  const own = { down: 50, up: null };
  const slow = { down: 5, up: 1 };
  await limits.set(EVERYBODY_ELSE, own);
  await limits.schedule(EVERYBODY_ELSE, slow);
  expect([limits.of(EVERYBODY_ELSE), limits.of(TV), lines("rate over 625000 ").length]).toEqual([
    slow,
    null,
    1,
  ]);
  expect(LIMITS.read(store)).toEqual([{ id: EVERYBODY_ELSE, rate: own }]);
  limits = await fresh();
  expect([limits.of(EVERYBODY_ELSE), limits.scheduled]).toEqual([slow, [EVERYBODY_ELSE]]);
  expect(limits.ids).toEqual([]);
  await limits.schedule(EVERYBODY_ELSE, null);
  expect([limits.of(EVERYBODY_ELSE), host.limitsTable]).toEqual([null, null]);
  await limits.schedule(EVERYBODY_ELSE, undefined);
  expect([limits.of(EVERYBODY_ELSE), limits.scheduled]).toEqual([own, []]);
  await limits.schedule(EVERYBODY_ELSE, slow);
  await limits.set(EVERYBODY_ELSE, { down: 60, up: 60 });
  expect([limits.of(EVERYBODY_ELSE), limits.scheduled]).toEqual([{ down: 60, up: 60 }, []]);
});

test("what the database or a backup has that is no limit is left out", () => {
  const rate = { down: 1, up: null };
  const texts = [
    { id: TV, rate },
    { id: TV, rate: { down: 9, up: 9 } },
    { id: "10.8.0.0/24", rate },
    { id: "tv", rate },
    { id: CAMERA, rate: { down: null, up: null } },
    { id: CAMERA, rate: { down: 0, up: 1 } },
    { id: CAMERA },
  ];
  expect(LIMITS.parse(JSON.stringify(texts))).toEqual([{ id: TV, rate }]);
  expect(LIMITS.isValid(LIMITS.format([{ id: TV, rate }]))).toBe(true);
  expect(LIMITS.isValid("nonsense")).toBe(false);
});

const FULL_BYTES = 500_000_000;
const QUOTA = A_DAY;
const used = () => limits.quotaOf(TV)?.usedBytes;

test("the kernel blocks a device after its quota, which is told once and begins again at local midnight", async () => {
  zone = "Europe/Berlin";
  host.setClock(Date.parse("2026-11-28T12:00:00Z") - host.monotonic());
  await limits.setQuota(TV, QUOTA);
  expect(lines("quota")).toEqual([
    "quota used_2026_11_28_02_00_00_00_00_20 {",
    'quota name "used_2026_11_28_02_00_00_00_00_20" drop',
    'quota name "used_2026_11_28_02_00_00_00_00_20" drop',
  ]);
  expect(lines("over ")).toEqual(["over 500000000 bytes used 0 bytes"]);
  host.useQuotas(FULL_BYTES - 1);
  await limits.count();
  expect([used(), usedUp]).toEqual([FULL_BYTES - 1, []]);
  host.useQuotas(5_000);
  // The kernel says that it is used up.
  await limits.check();
  await limits.check();
  expect([used(), usedUp]).toEqual([FULL_BYTES, [`${TV} 500 MB a day, then blocked`]]);
  // 23:59 in Berlin, and then midnight.
  host.setClock(Date.parse("2026-11-28T22:59:00Z") - host.monotonic());
  await limits.retry();
  expect([lines("over "), renewed]).toEqual([["over 500000000 bytes used 500004999 bytes"], []]);
  host.setClock(Date.parse("2026-11-28T23:00:00Z") - host.monotonic());
  await limits.retry();
  expect([used(), lines("over "), renewed]).toEqual([0, ["over 500000000 bytes used 0 bytes"], [TV]]);
  // A clock that is not set yet gives nothing back.
  host.useQuotas(70);
  await limits.count();
  host.setClock(-host.monotonic());
  limits = await fresh();
  expect(used()).toBe(70);
  host.setClock(Date.parse("2026-11-29T12:00:00Z") - host.monotonic());
  await limits.retry();
  expect(used()).toBe(70);
  await limits.setQuota(TV, null);
  expect([host.limitsTable, used()]).toEqual([null, undefined]);
});

test("a quota that is lowered below what was used is told, and one that was used up already is not told again", async () => {
  await limits.setQuota(TV, QUOTA);
  host.useQuotas(200_000_000);
  await limits.setQuota(TV, { ...QUOTA, megabytes: 300 });
  expect(usedUp).toEqual([]);
  await limits.setQuota(TV, { ...QUOTA, megabytes: 150 });
  await limits.setQuota(TV, { ...QUOTA, megabytes: 100 });
  expect(usedUp).toEqual([`${TV} 150 MB a day, then blocked`]);
});

test("what was used outlives another limit, a restart, a table that is removed, and a reboot", async () => {
  await limits.setQuota(TV, QUOTA);
  host.useQuotas(1_000);
  await limits.set(CAMERA, { down: 1, up: 1 });
  expect(lines("used ")).toContain("over 500000000 bytes used 1000 bytes");
  limits = await fresh();
  expect(lines("used ")).toContain("over 500000000 bytes used 1000 bytes");
  host.useQuotas(1_000);
  await limits.count();
  host.removeLimits();
  await limits.check();
  expect(lines("used ")).toContain("over 500000000 bytes used 2000 bytes");
  await host.pass(300_000);
  await limits.retry();
  host.removeLimits();
  limits = await fresh();
  expect([lines("used ").at(0), used()]).toEqual(["over 500000000 bytes used 2000 bytes", 2_000]);
  // Another quota keeps it; for a month, too.
  await limits.setQuota(TV, { ...QUOTA, megabytes: 1, every: "month" });
  expect(lines("used ")).toContain("over 1000000 bytes used 2000 bytes");
});

test("a schedule's quota has a count of its own, and the device's own one goes on afterwards where it was", async () => {
  const own: Quota = { ...QUOTA, every: "month" };
  host.setClock(Date.parse("2026-11-27T12:00:00Z") - host.monotonic());
  await limits.setQuota(TV, own);
  host.useQuotas(400_000_000);
  await limits.scheduleQuota(TV, { ...QUOTA, megabytes: 100 });
  expect([limits.quotaOf(TV), lines("quota used_")]).toEqual([
    { quota: { ...QUOTA, megabytes: 100 }, usedBytes: 0 },
    [expect.stringMatching(/^quota used_2026_11_27_day_02_\w+ \{$/)],
  ]);
  expect(QUOTAS.read(store)).toEqual([{ id: TV, quota: own }]);
  host.useQuotas(30_000_000);
  limits = await fresh();
  expect(used()).toBe(30_000_000);
  await limits.scheduleQuota(TV, undefined);
  expect(limits.quotaOf(TV)).toEqual({ quota: own, usedBytes: 400_000_000 });
  host.useQuotas(1_000);
  // In the same day it goes on, too, over a restart meanwhile; on the next day it begins again.
  await limits.retry();
  limits = await fresh();
  await limits.scheduleQuota(TV, QUOTA);
  expect(used()).toBe(30_000_000);
  await limits.scheduleQuota(TV, null);
  expect([limits.quotaOf(TV), limits.ids, host.limitsTable]).toEqual([null, [TV], null]);
  host.setClock(Date.parse("2026-11-28T12:00:00Z") - host.monotonic());
  await limits.scheduleQuota(TV, { ...QUOTA, megabytes: 1 });
  expect(used()).toBe(0);
  host.useQuotas(1_000_000);
  await limits.count();
  expect(usedUp).toEqual([`${TV} 1 MB a day, then blocked`]);
  // What a person decides ends it.
  await limits.setQuota(TV, { ...own, megabytes: 600 });
  expect([limits.quotaOf(TV)?.usedBytes, limits.scheduledQuotas]).toEqual([400_001_000, []]);
  await limits.setQuota(TV, null);
  expect(limits.quotaOf(TV)).toBeNull();
});

test("what the database has of schedules that is no quota is left out", async () => {
  store.write(
    "scheduled_quotas",
    JSON.stringify({ tv: null, [TV]: { ...QUOTA, at_end: { down: null, up: null } }, [PHONE]: null }),
  );
  limits = await fresh();
  expect(limits.scheduledQuotas).toEqual([PHONE]);
});

const SLOW: Rate = { down: 2, up: null };
test("after its quota a device is blocked, has another rate, or is only counted", async () => {
  await limits.set(CAMERA, { down: 20, up: 20 });
  const ended = async (at_end: Quota["at_end"]) => {
    await limits.setQuota(CAMERA, { ...QUOTA, at_end });
    return ["up_CAMERA", "down_CAMERA"].map((name) =>
      chain(name)
        ?.at(-1)
        ?.replace(/"used_\w+"/, "USED"),
    );
  };
  expect(await ended("blocked")).toEqual(["quota name USED drop", "quota name USED drop"]);
  expect(await ended("told")).toEqual(["quota name USED", "quota name USED"]);
  const slow = ["quota name USED", 'quota name USED limit name "over_down_CAMERA" drop'];
  expect(await ended(SLOW)).toEqual(slow);
  expect(lines("rate over 250000 ")).toHaveLength(1);
  // What a rate drops is not counted.
  expect(chain("down_CAMERA")?.at(0)).toBe('limit name "down_CAMERA" drop');
  // Its end is in force again after a restart.
  const before = chain("down_CAMERA");
  host.removeLimits();
  limits = await fresh();
  expect(chain("down_CAMERA")).toEqual(before);
});

test("a device with a quota and no rate still shares that of everybody else", async () => {
  await limits.set(EVERYBODY_ELSE, { down: 10, up: null });
  await limits.setQuota(TV, QUOTA);
  expect(chain("down_TV")).toEqual([
    'limit name "down_1" drop',
    expect.stringMatching(/^quota name .* drop$/),
  ]);
});

test("everybody else shares one quota, and a device with its own is not among them", async () => {
  await limits.setQuota(EVERYBODY_ELSE, QUOTA);
  const quotas = (name: string) => chain(name)?.filter((rule) => rule.startsWith("quota"));
  const theirs = expect.stringMatching(/^quota name "used_[0-9_]+_others" drop$/);
  expect([limits.ids, quotas("up_1"), quotas("down_1")]).toEqual([[], [theirs], [theirs]]);
  await limits.set(CAMERA, { down: 20, up: 20 });
  await limits.setQuota(TV, { ...QUOTA, megabytes: 1 });
  expect([quotas("down_CAMERA"), quotas("down_TV")]).toEqual([
    [theirs],
    [expect.stringMatching(/^quota name "used_[0-9_]+_02_00_00_00_00_20" drop$/)],
  ]);
  host.useQuotas(1_000);
  limits = await fresh();
  expect(limits.quotaOf(EVERYBODY_ELSE)).toEqual({ quota: QUOTA, usedBytes: 1_000 });
  host.useQuotas(FULL_BYTES);
  await limits.check();
  expect(usedUp).toContain("others 500 MB a day, then blocked");
  // Its slower end holds for a device with a rate and no quota, too, and not for one with a quota.
  await limits.setQuota(EVERYBODY_ELSE, { ...QUOTA, at_end: SLOW });
  const slow = expect.stringMatching(/_others" limit name "over_down_1" drop$/);
  const own = expect.stringMatching(/_20" drop$/);
  expect(["down_1", "down_CAMERA", "down_TV"].map(quotas)).toEqual([[slow], [slow], [own]]);
  await limits.setQuota(EVERYBODY_ELSE, { ...QUOTA, at_end: "told" });
  expect([quotas("down_1"), lines("over_down_1")]).toEqual([[expect.stringMatching(/_others"$/)], []]);
});

test("what the database or a backup has that is no quota is left out", () => {
  const texts = [
    { id: TV, quota: QUOTA },
    { id: "10.8.0.0/24", quota: QUOTA },
    { id: "tv", quota: QUOTA },
    { id: EVERYBODY_ELSE, quota: QUOTA },
    { id: CAMERA, quota: { megabytes: 0, every: "day" } },
    { id: CAMERA, quota: { megabytes: 1, every: "year" } },
    { id: CAMERA, quota: { ...QUOTA, at_end: "slow" } },
    // As former versions have written it.
    { id: PHONE, quota: { megabytes: 1, every: "month" } },
  ];
  expect(QUOTAS.parse(JSON.stringify(texts))).toEqual([
    { id: TV, quota: QUOTA },
    { id: EVERYBODY_ELSE, quota: QUOTA },
    // Of a later version, or damaged.
    { id: CAMERA, quota: QUOTA },
    { id: PHONE, quota: { megabytes: 1, every: "month", at_end: "blocked" } },
  ]);
  expect(QUOTAS.isValid(QUOTAS.format([{ id: TV, quota: QUOTA }]))).toBe(true);
  const former = [{ id: PHONE, quota: { megabytes: 1, every: "month" } }];
  expect(QUOTAS.isValid(JSON.stringify(former))).toBe(true);
  const endless = [{ id: TV, quota: { ...QUOTA, at_end: { down: null, up: null } } }];
  expect(QUOTAS.parse(JSON.stringify(endless))).toEqual([{ id: TV, quota: QUOTA }]);
  expect(QUOTAS.isValid(JSON.stringify([{ id: TV, quota: { ...QUOTA, at_end: "slow" } }]))).toBe(false);
  expect(QUOTAS.changes(null, QUOTAS.format([{ id: TV, quota: QUOTA }]))).toMatchObject([
    { what: "quota", name: TV, after: "500 MB a day, then blocked" },
  ]);
  const changed = QUOTAS.changes(
    QUOTAS.format([{ id: TV, quota: QUOTA }]),
    QUOTAS.format([{ id: TV, quota: { ...QUOTA, at_end: SLOW } }]),
  );
  expect(changed).toMatchObject([{ after: "500 MB a day, then 2 Mbit/s down" }]);
});
