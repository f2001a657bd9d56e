import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Device } from "../../src/devices/schema.ts";
import type { TunnelRow } from "../../src/tunnel/schema.ts";

/** What the tests use of the page, whose own types need those of the browser. */
interface Page {
  orderFor: (device: Partial<Device>, all: readonly string[]) => readonly string[];
  lengthened: (order: readonly string[], all: readonly string[]) => readonly string[];
  choicesAt: (at: number, order: readonly string[], all: readonly string[]) => readonly string[];
  canSwap: (order: readonly string[], one: number, other: number) => boolean;
  takenAtOnce: (order: readonly string[], known: Known) => string | null;
  whatChanges: (
    device: Partial<Device>,
    order: readonly string[],
    known: Known & { isOff: boolean },
  ) => string[];
  movedBy: (tunnel: string, devices: readonly Partial<Device>[]) => readonly Partial<Device>[];
  movedText: (devices: readonly Partial<Device>[]) => string;
}

interface Known {
  tunnels: readonly Partial<TunnelRow>[];
  devices: readonly Partial<Device>[];
  scheduled: ReadonlyMap<string, string>;
}

const page: Page = await import(join(import.meta.dir, "../../src/dashboard/exit-order.ts"));

const ALL = ["main", "amsterdam", "tv", "blocked"];
const UP = ["main", "amsterdam"].map((name) => ({ name, state: "connected" as const }));
const KNOWN: Known = { tunnels: UP, devices: [], scheduled: new Map() };
const TV: Partial<Device> = { id: "tv", name: "TV", addresses: [], exit: "main", assigned: true };

test("an order begins with the exit that the device has, and one more", () => {
  const of = (device: Partial<Device>) => page.orderFor({ ...TV, ...device }, ALL);
  expect(of({ exit: "amsterdam" })).toEqual(["amsterdam", "main"]);
  expect(of({ exit: "blocked" })).toEqual(["main", "amsterdam"]);
  expect(of({ exit: "direct" })).toEqual(["main", "amsterdam"]);
  expect(of({ exit_order: ["tv", "main", "blocked"] })).toEqual(["tv", "main", "blocked"]);
  expect(page.orderFor(TV, ["main", "blocked"])).toEqual(["main", "blocked"]);
});

test("each exit is there once, and blocked only at the end", () => {
  expect(page.lengthened(["main", "blocked"], ALL)).toEqual(["main", "amsterdam", "blocked"]);
  expect(page.lengthened(["main", "amsterdam", "tv"], ALL)).toEqual([...ALL]);
  expect(page.lengthened(ALL, ALL)).toEqual(ALL);
  expect(page.choicesAt(0, ["main", "amsterdam"], ALL)).toEqual(["main", "tv"]);
  expect(page.choicesAt(1, ["main", "amsterdam"], ALL)).toEqual(["amsterdam", "tv", "blocked"]);
  expect(page.choicesAt(1, ["main", "gone"], ALL)).toEqual(["amsterdam", "tv", "blocked", "gone"]);
  const order = ["main", "amsterdam", "blocked"];
  expect([page.canSwap(order, 0, 1), page.canSwap(order, 1, 2)]).toEqual([true, false]);
});

test("the first exit that is up is taken at once, or the one where devices with the same order are", () => {
  const taken = (order: readonly string[], known: Partial<Known> = {}) =>
    page.takenAtOnce(order, { ...KNOWN, ...known });
  expect(taken(["tv", "amsterdam", "main"])).toBe("amsterdam");
  expect(taken(["tv", "blocked"])).toBe("blocked");
  expect(taken(["tv"])).toBeNull();
  const unanswered = [{ name: "main", state: "connected" as const, unanswered: true }];
  expect(taken(["main", "blocked"], { tunnels: unanswered })).toBe("blocked");
  const order = ["amsterdam", "main"];
  const other = { id: "phone", exit_order: order, exit: "main" };
  expect(taken(order, { devices: [other] })).toBe("main");
  expect(taken(order, { devices: [other], tunnels: UP.slice(1) })).toBe("amsterdam");
  // Its exit is the schedule's.
  expect(taken(order, { devices: [other], scheduled: new Map([["phone", "night"]]) })).toBe("amsterdam");
});

test("everything that an order changes is said before it is saved", () => {
  const changes = (order: readonly string[], device: Partial<Device> = {}, known: object = {}) =>
    page.whatChanges({ ...TV, ...device }, order, { ...KNOWN, isOff: false, ...known });
  expect(changes(["amsterdam", "main", "blocked"])).toEqual([
    "TV leaves by the first of these that is up, and by no other: amsterdam and main.",
    "If none of them is up, it is blocked, and rules for destinations that are for all devices do not hold for it.",
    "This replaces its present exit: main.",
    "It leaves by amsterdam at once, and its connections are reset.",
  ]);
  const order = { exit_order: ["amsterdam", "main"] };
  expect(changes(["main", "amsterdam"], order, { scheduled: new Map([["tv", "night"]]) }).slice(1)).toEqual([
    "If none of them is up, it is blocked. Rules for destinations that are for all devices hold for it then, too.",
    "This replaces its present order: amsterdam and main.",
    "The exit that the schedule night has given it ends now.",
    "It stays with main now, and keeps its connections.",
  ]);
  const [, , replaced, now] = changes(["tv"], { assigned: false });
  expect([replaced, now]).toEqual([
    "It then has these instead of the default exit.",
    "None of them is up now: it has no internet until one is.",
  ]);
  expect(changes(["tv", "blocked"]).at(-1)).toBe("It is blocked at once, and its connections end.");
  expect(changes(["tv", "blocked"], { exit: "blocked" }).at(-1)).toBe("It stays blocked now.");
  expect(changes(["tv"], {}, { isOff: true }).at(-1)).toContain("the kill switch is off");
});

test("a tunnel's end moves those who have another exit, and they are told apart from the others", () => {
  const order = { exit: "main", exit_order: ["main", "amsterdam"] };
  const phone = { ...TV, ...order, id: "phone", name: "Phone" };
  const moved = page.movedBy("main", [TV, phone, { ...phone, id: "laptop", exit: "amsterdam" }]);
  expect(moved).toEqual([phone]);
  expect(page.movedText(moved)).toBe(
    "Phone moves to the next of the exits in order that is up; connections are reset.",
  );
  expect(page.movedText([])).toBe("");
});
