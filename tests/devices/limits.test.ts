import { afterEach, beforeEach, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { type Address, mustParseAddress } from "../../src/base/address.ts";
import { GatewayError } from "../../src/base/errors.ts";
import type { Mac } from "../../src/base/mac.ts";
import type { DeviceId } from "../../src/devices/id.ts";
import { EVERYBODY_ELSE, LIMITS, Limits } from "../../src/devices/limits.ts";
import { Store } from "../../src/store/store.ts";
import { FakeHost } from "../fake/host.ts";
import { newDirectory } from "../tunnel/directory.ts";

const TV = "02:00:00:00:00:20" as Mac;
const CAMERA = "02:00:00:00:00:30" as Mac;
const PHONE = "10.200.7.2/32" as DeviceId;

let directory: string;
let store: Store;
let host: FakeHost;
let limits: Limits;
let road: Address[];
let warnings: string[];

beforeEach(async () => {
  directory = newDirectory();
  store = Store.open(directory, 0);
  host = new FakeHost();
  host.patient = true;
  road = ["10.200.7.2", "fd00:200::2"].map(mustParseAddress);
  warnings = [];
  limits = await fresh();
});
afterEach(() => {
  store.close();
  rmSync(directory, { recursive: true });
});

/** As the service starts. */
async function fresh(): Promise<Limits> {
  const made = new Limits({
    host,
    store,
    addressesOf: () => road,
    log: { warn: (message) => void warnings.push(message) },
  });
  await made.load();
  await made.insideIs(["lan0"]);
  return made;
}

/** What the kernel has of this: the lines with it, without the space before them. */
const lines = (part: string) =>
  (host.limitsTable ?? "")
    .split("\n")
    .filter((line) => line.includes(part))
    .map((line) => line.trim());

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
    `elements = { ${TV} : 2, ${CAMERA} : 3 }`,
    'elements = { 2 : "down_2" }',
    'elements = { 2 : "up_2", 3 : "up_3" }',
  ]);
  await limits.set(TV, null);
  // A connection of the TV still has the mark 2, and must not have the camera's limit.
  expect(lines("elements")).toEqual([`elements = { ${CAMERA} : 3 }`, 'elements = { 3 : "up_3" }']);
  await limits.set(CAMERA, null);
  expect(host.limitsTable).toBeNull();
});

test("everybody else shares one rate, and a device with its own is not among them", async () => {
  await limits.set(EVERYBODY_ELSE, { down: 10, up: null });
  expect(lines("elements")).toEqual(['elements = { 1 : "down_1" }']);
  expect(lines("ct mark set 1")).toEqual(["ct mark set 1 goto up"]);
  await limits.set(TV, { down: 20, up: null });
  expect(lines("elements")).toEqual([
    `elements = { ${TV} : 2 }`,
    'elements = { 1 : "down_1", 2 : "down_2" }',
  ]);
  expect([limits.ids, limits.of(EVERYBODY_ELSE)]).toEqual([[TV], { down: 10, up: null }]);
  limits = await fresh();
  expect(limits.of(EVERYBODY_ELSE)).toEqual({ down: 10, up: null });
  store.write = () => {
    throw new GatewayError("storage_full", "The disk is full.");
  };
  // That of a device may be higher than the shared one, which it then has no more.
  await expect(limits.set(CAMERA, { down: 15, up: null })).rejects.toThrow("The disk is full.");
  expect((await limits.set(CAMERA, { down: 5, up: null }))?.message).toContain("in force");
});

test("a device on the road is known by its addresses, as they are now", async () => {
  await limits.set(PHONE, { down: 5, up: 5 });
  expect(lines(": 2 }")).toEqual(["elements = { 10.200.7.2 : 2 }", "elements = { fd00:200::2 : 2 }"]);
  road = [mustParseAddress("10.201.7.2")];
  await limits.insideIs(["lan0", "portcullis-r"]);
  expect(lines(": 2 }")).toEqual(["elements = { 10.201.7.2 : 2 }"]);
  expect(lines("iifname")).toEqual(['iifname { "lan0", "portcullis-r" } goto sent']);
});

test("limits outlive the service, and what a former run has left is removed", async () => {
  await limits.set(TV, { down: 20, up: 5 });
  const before = host.limitsTable;
  limits = await fresh();
  expect([limits.of(TV), host.limitsTable]).toEqual([{ down: 20, up: 5 }, before]);
  store.write(LIMITS.key, "[]");
  limits = await fresh();
  await limits.lookAfter();
  expect(host.limitsTable).toBeNull();
});

test("a table that another program removes is made again, and one that stands stays", async () => {
  await limits.set(TV, { down: 20, up: 5 });
  const loads = () => host.commands.filter((command) => command === "nft -f -").length;
  await limits.check();
  expect(loads()).toBe(1);
  host.removeLimits();
  await limits.check();
  expect([loads(), host.limitsTable === null]).toEqual([2, false]);
});

test("a kernel that refuses changes nothing and the client is told; later it is tried again", async () => {
  await limits.set(TV, { down: 20, up: 5 });
  host.fails = () => "before";
  await expect(limits.set(TV, { down: 1, up: 1 })).rejects.toThrow();
  expect([limits.of(TV), LIMITS.read(store)]).toEqual([
    { down: 20, up: 5 },
    [{ id: TV, rate: { down: 20, up: 5 } }],
  ]);
  await limits.lookAfter();
  await limits.lookAfter();
  expect(warnings).toEqual([expect.stringContaining("devices are not limited: ")]);
  host.fails = () => null;
  await limits.lookAfter();
  expect(lines("rate over")[0]).toContain("2500000 ");
});

test("a lower limit takes effect even if it cannot be saved, a higher one does not", async () => {
  await limits.set(TV, { down: 20, up: null });
  const { write } = store;
  store.write = () => {
    throw new GatewayError("storage_full", "The disk is full.");
  };
  const unsaved = await limits.set(TV, { down: 10, up: 1 });
  expect(unsaved?.message).toContain("The change is in force, but a restart would undo it");
  expect(lines("rate over")).toHaveLength(2);
  for (const higher of [{ down: 20, up: 1 }, { down: 10, up: null }, null])
    await expect(limits.set(TV, higher)).rejects.toThrow("The disk is full.");
  expect(limits.of(TV)).toEqual({ down: 10, up: 1 });
  store.write = write;
  await limits.lookAfter();
  expect(LIMITS.read(store)).toEqual([{ id: TV, rate: { down: 10, up: 1 } }]);
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
