import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import type { Order } from "../../src/tunnel/order.ts";
import type { TunnelRow } from "../../src/tunnel/schema.ts";

/** What the tests use of the page, whose own types need those of the browser. */
interface Page {
  draftOf: (row: Partial<TunnelRow>, current: string, last: Order | null) => Draft;
  lengthened: (targets: Draft["targets"]) => Draft["targets"];
  bodyOf: (draft: Draft) => unknown;
  newForm: (draft: Draft) => Form;
  edited: (form: Form, some: Partial<Draft>) => Form;
  settled: (form: Form) => Form;
  whatChanges: (row: Partial<TunnelRow>, draft: Draft) => string[];
  rememberOrders: (rows: readonly Partial<TunnelRow>[]) => void;
  lastOrderOf: (row: Partial<TunnelRow>) => Order | null;
  stillWanted: (order: Order, tunnel: string, since: Since) => Order | null;
}

interface Since {
  servers: { provider: string; servers: object } | null;
  recent: readonly { provider: string; server: string }[] | null;
}

interface Form {
  draft: Draft;
  told: Draft;
}

interface Draft {
  targets: readonly { key: number; server: string; via: string }[];
  back: string;
  whenQuiet: boolean;
  moveWhen: readonly string[];
}

const FOLDER = join(import.meta.dir, "../../src/dashboard");
const page: Page = {
  ...(await import(join(FOLDER, "views/tunnels/order-draft.ts"))),
  ...(await import(join(FOLDER, "last-order.ts"))),
};

const ORDER: Order = {
  targets: [
    { provider: "managed", server: "Sweden" },
    { provider: "custom", server: "home", via: "work", transport: "lwo" },
  ],
  at: 1,
  back_after_minutes: 5,
  move_when: ["lossy"],
};
const TV: Partial<TunnelRow> = { name: "tv", provider: "custom", wanted: "home", state: "connected" };
const GONE = { ...TV, provider: null, wanted: null, state: "disconnected" as const };

test("a form with a tunnel's order asks for the same again", () => {
  const { at: _, ...asked } = ORDER;
  const same = { ...asked, back_when_quiet: false };
  expect(page.bodyOf(page.draftOf({ ...TV, order: ORDER }, "managed", null))).toEqual(same);
  expect(page.bodyOf(page.draftOf(GONE, "managed", ORDER))).toEqual(same);
  const { back_after_minutes: __, ...never } = ORDER;
  expect(page.draftOf({ ...TV, order: never }, "managed", null).back).toBe("0");
});

test("a form without an order begins with the tunnel's target, and asks for what was written", () => {
  const draft = page.draftOf({ ...TV, wanted_via: "work" }, "managed", null);
  const [first, second] = draft.targets;
  expect([first?.server, first?.via, second?.server, draft.back]).toEqual(["home", "work", "", "10"]);
  const targets = [...draft.targets.slice(0, 1), { ...second, key: 1, server: " Sweden ", via: "" }];
  expect(page.bodyOf({ ...draft, targets, back: "0", moveWhen: ["slow"] })).toEqual({
    targets: [
      { provider: "custom", server: "home", via: "work" },
      { provider: "custom", server: "Sweden" },
    ],
    ...{ back_after_minutes: 0, back_when_quiet: false, move_when: ["slow"] },
  });
  expect(page.lengthened(draft.targets).map(({ key }) => key)).toEqual([0, 1, 2]);
});

test("what becomes of the tunnel is said before it is connected", () => {
  const changes = (row: Partial<TunnelRow>, last: Order | null = null) =>
    page.whatChanges(row, page.draftOf(row, "managed", last));
  expect(changes({ ...TV, order: ORDER })).toEqual([
    "The first of these that works is taken: Sweden and home via work. One that does not work costs 10 to 30 seconds.",
    "They replace its present targets: Sweden · home via work.",
    "Its devices stay connected meanwhile, and if none works, the tunnel keeps its server. At another server, open connections end.",
  ]);
  expect(changes(TV).slice(0, 2)).toEqual([
    "The first of these that works is taken: home and target 2. One that does not work costs 10 to 30 seconds.",
    "They replace its present target: home.",
  ]);
  expect(changes(GONE).slice(1)).toEqual(["Its devices have internet once one of them answers."]);
  // They have none now.
  for (const down of [{ state: "reconnecting" as const }, { unanswered: true }])
    expect(changes({ ...TV, ...down }).at(-1)).toBe("Its devices have internet once one of them answers.");
});

test("what is being typed is told once it is whole", () => {
  const form = page.newForm(page.draftOf(TV, "managed", null));
  const told = (of: Form) => page.whatChanges(TV, of.told)[0];
  const targets = form.draft.targets.map((each) => ({ ...each, server: `${each.server}Swe` }));
  const typed = page.edited(form, { targets });
  expect(typed.draft.targets).toEqual(targets);
  expect(told(typed)).toContain("taken: home and target 2.");
  expect(told(page.settled(typed))).toContain("taken: homeSwe and Swe.");
});

/** The browser's. */
const kept = new Map<string, string>();
const STORAGE = {
  getItem: (key: string) => kept.get(key) ?? null,
  setItem: (key: string, text: string) => void kept.set(key, text),
};
const world = globalThis as { localStorage?: unknown };
beforeEach(() => {
  kept.clear();
  world.localStorage = STORAGE;
});
afterEach(() => {
  world.localStorage = undefined;
});

test("an order is offered again after a disconnect, until the tunnel leads elsewhere", () => {
  page.rememberOrders([{ ...TV, order: ORDER }]);
  expect(page.lastOrderOf({ ...TV, order: ORDER })).toBeNull();
  page.rememberOrders([GONE]);
  expect(page.lastOrderOf(GONE)).toEqual(ORDER);
  page.rememberOrders([TV]);
  page.rememberOrders([GONE]);
  expect(page.lastOrderOf(GONE)).toBeNull();
});

test("an order that is offered again has no target that is gone, and is not older than a later connection", () => {
  const records = (...names: string[]) => names.map((hostname) => ({ hostname }));
  const tree = {
    Sweden: { Malmo: records("se-1") },
    Norway: { Oslo: records("no-1"), Bergen: records("no-2") },
  };
  const orderOf = (...servers: string[]): Order => ({
    targets: servers.map((server) => ({ provider: "managed", server })),
    at: 1,
  });
  const NOTHING: Since = { servers: null, recent: null };
  const servers = { provider: "managed", servers: tree };
  const wanted = (order: Order, since: Partial<Since> = {}, tunnel = "main") =>
    page.stillWanted(order, tunnel, { ...NOTHING, ...since })?.targets.map(({ server }) => server);
  const all = ["Sweden", "Oslo", "Bergen, Norway", "se-1"];
  expect(wanted(orderOf(...all), { servers })).toEqual(all);
  expect(wanted(orderOf("gone", "Oslo", "se-1"), { servers })).toEqual(["Oslo", "se-1"]);
  expect(page.stillWanted(orderOf("gone", "Oslo", "se-1"), "main", { ...NOTHING, servers })?.at).toBe(0);
  expect(wanted(orderOf("gone", "se-1"), { servers })).toBeUndefined();
  // Not known, and another provider's.
  expect(wanted(orderOf("gone", "se-1"))).toEqual(["gone", "se-1"]);
  expect(wanted(orderOf("gone", "se-1"), { servers: { ...servers, provider: "custom" } })).toHaveLength(2);
  const via = { provider: "managed" as const, server: "se-1", via: "gone" };
  expect(wanted({ targets: [via, ...orderOf("Oslo", "se-1").targets], at: 0 }, { servers })).toHaveLength(2);

  const recent = (server: string, provider = "managed") => ({ servers, recent: [{ provider, server }] });
  expect(wanted(orderOf("Sweden", "no-1"), recent("se-1"))).toHaveLength(2);
  expect(wanted(orderOf("Sweden", "Oslo"), recent("no-1"))).toHaveLength(2);
  expect(wanted(orderOf("Sweden", "Oslo"), recent("no-2"))).toBeUndefined();
  expect(wanted(orderOf("Sweden", "Oslo"), recent("se-1", "custom"))).toBeUndefined();
  // Only those of the main tunnel are kept.
  expect(wanted(orderOf("Sweden", "Oslo"), recent("no-2"), "tv")).toHaveLength(2);
});

test("what another version has kept, and a browser that keeps nothing, are no hindrance", () => {
  for (const text of ["{", "null", '{"tv":{"targets":[1,2]}}', '{"tv":3}']) {
    kept.set("portcullis-orders", text);
    expect(page.lastOrderOf(GONE)).toBeNull();
  }
  world.localStorage = undefined;
  page.rememberOrders([{ ...TV, order: ORDER }]);
  expect(page.lastOrderOf(GONE)).toBeNull();
});
