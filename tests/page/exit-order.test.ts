import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Device } from "../../src/devices/schema.ts";
import type { TunnelRow } from "../../src/tunnel/schema.ts";

/** What the tests use of the page, whose own types need those of the browser. */
interface Page {
  orderFor: (device: Partial<Device>, all: readonly string[]) => readonly string[];
  lengthened: (order: readonly string[], all: readonly string[]) => readonly string[];
  choicesAt: (at: number, order: readonly string[], all: readonly string[]) => readonly string[];
  goneIn: (order: readonly string[], all: readonly string[]) => number;
  canSwap: (order: readonly string[], one: number, other: number) => boolean;
  takenAtOnce: (order: readonly string[], known: Known) => string | null;
  whatChanges: (
    device: Partial<Device>,
    order: readonly string[],
    known: Known & { isOpen: boolean },
  ) => string[];
  movedBy: (
    tunnel: string,
    devices: readonly Partial<Device>[],
    known: Pick<Known, "tunnels" | "scheduled">,
  ) => readonly Partial<Device>[];
  leftText: (all: number | undefined, moved: readonly Partial<Device>[], isOff: boolean) => string;
  onlyText: (device: Partial<Device>, order: readonly string[], exit: string, isOpen: boolean) => string;
  movedText: (devices: readonly Partial<Device>[]) => string;
}

interface Known {
  tunnels: readonly Partial<TunnelRow>[] | null;
  devices: readonly Partial<Device>[];
  scheduled: ReadonlyMap<string, string> | null;
}

const FOLDER = join(import.meta.dir, "../../src/dashboard");
const page: Page = {
  ...(await import(join(FOLDER, "exit-order.ts"))),
  ...(await import(join(FOLDER, "views/home/left.ts"))),
};

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

test("an exit whose tunnel was removed is found in the order", () => {
  expect(page.goneIn(["main", "gone", "blocked"], ALL)).toBe(1);
  expect(page.goneIn(["main", "tv", "blocked"], ALL)).toBe(-1);
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
    page.whatChanges({ ...TV, ...device }, order, { ...KNOWN, isOpen: false, ...known });
  expect(changes(["amsterdam", "main", "blocked"])).toEqual([
    "Apart from rules for destinations, TV goes through the first of these that is up, and through no other: amsterdam and main.",
    "If none of them is up, it is blocked, and rules for destinations that are for all devices do not hold for it.",
    "This replaces its present exit: main.",
    "It goes through amsterdam at once, and its connections are reset.",
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
});

test("while the kill switch is not in place, no exit is said to block", () => {
  const open = { ...KNOWN, isOpen: true };
  for (const order of [["tv"], ["tv", "blocked"]])
    expect(page.whatChanges({ ...TV, exit: "blocked" }, order, open)).toEqual([
      "Apart from rules for destinations, TV goes through the first of these that is up, and through no other: tv.",
      "While none of them is up, it might leave outside the tunnel: the kill switch is not in place.",
      "This replaces its present exit: blocked.",
      "None of them is up now. It might leave outside the tunnel: the kill switch is not in place.",
    ]);
  const question = (exit: string, isOpen: boolean) => page.onlyText(TV, ["tv", "main"], exit, isOpen);
  expect(["blocked", "", "main"].map((exit) => question(exit, true).split("If you go on, ")[1])).toEqual([
    "it might leave outside the tunnel: the kill switch is not in place.",
    "it has only the default exit, and might leave outside the tunnel while that is down: the kill switch is not in place.",
    "it has only main, and might leave outside the tunnel while that is down: the kill switch is not in place.",
  ]);
  expect(question("blocked", false)).toBe(
    "TV has several exits in order: tv and main. If you go on, it is blocked.",
  );
});

test("what is not known yet, and a tunnel that may still carry while it connects, are not foretold", () => {
  const now = (order: readonly string[], known: Partial<Known>) =>
    page.whatChanges(TV, order, { ...KNOWN, isOpen: false, ...known }).at(-1);
  const first = "It uses the first that is up.";
  expect(now(["amsterdam"], { tunnels: null })).toBe(first);
  expect(now(["amsterdam"], { scheduled: null })).toBe(first);
  const tunnels = [...UP, { name: "tv", state: "connecting" as const }];
  expect(now(["tv", "amsterdam"], { tunnels })).toBe(first);
  expect(now(["tv", "blocked"], { tunnels })).toBe(first);
  expect(now(["amsterdam", "tv"], { tunnels })).toContain("It goes through amsterdam at once");
});

test("a tunnel's end moves those who have another exit, and they are told apart from the others", () => {
  const order = { exit: "main", exit_order: ["main", "amsterdam"] };
  const phone = { ...TV, ...order, id: "phone", name: "Phone" };
  const devices = [TV, phone, { ...phone, id: "laptop", exit: "amsterdam" }];
  const moved = page.movedBy("main", devices, KNOWN);
  expect(moved).toEqual([phone]);
  expect(page.movedText(moved)).toBe(
    "Phone moves to the next exit in its order that is up; connections are reset.",
  );
  expect(page.movedText([])).toBe("");
});

test("nobody is said to move where no other tunnel is up, or where a schedule has given the exit", () => {
  const phone = { ...TV, id: "phone", exit_order: ["main", "amsterdam", "blocked"] };
  const moved = (known: Partial<Known>) => page.movedBy("main", [phone], { ...KNOWN, ...known });
  expect(moved({})).toEqual([phone]);
  expect(moved({ tunnels: UP.slice(0, 1) })).toEqual([]);
  const unanswered = { name: "amsterdam", state: "connected" as const, unanswered: true };
  expect(moved({ tunnels: [...UP.slice(0, 1), unanswered] })).toEqual([]);
  expect(moved({ tunnels: null })).toEqual([]);
  expect(moved({ scheduled: new Map([["phone", "night"]]) })).toEqual([]);
  expect(moved({ scheduled: null })).toEqual([]);
});

test("before the main tunnel ends, those who move are not counted among those who stay", () => {
  const moves = "TV moves to the next exit in its order that is up; connections are reset.";
  expect(page.leftText(1, [TV], false)).toBe(moves);
  // The count is older than the list.
  expect(page.leftText(0, [TV], true)).toBe(moves);
  expect(page.leftText(2, [TV], true)).toBe(
    `The kill switch is off: 1 device at home will then leave outside the tunnel, without protection. ${moves}`,
  );
  expect(page.leftText(0, [], false)).toContain("0 devices at home will have no internet");
  expect(page.leftText(undefined, [], false)).toContain("Its devices at home will have no internet");
});
