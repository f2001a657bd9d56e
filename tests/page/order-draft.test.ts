import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Last } from "../../src/tunnel/last.ts";
import type { Order } from "../../src/tunnel/order.ts";
import type { TunnelRow } from "../../src/tunnel/schema.ts";

/** What the tests use of the page, whose own types need those of the browser. */
interface Page {
  draftOf: (row: Partial<TunnelRow>, current: string) => Draft;
  lengthened: (targets: Draft["targets"]) => Draft["targets"];
  bodyOf: (draft: Draft) => unknown;
  newForm: (draft: Draft) => Form;
  edited: (form: Form, some: Partial<Draft>) => Form;
  settled: (form: Form) => Form;
  fieldOf: (target: { key: number }, field: string) => string;
  faultIn: (error: string, targets: Draft["targets"]) => { field: string; text: string } | null;
  whatChanges: (row: Partial<TunnelRow>, draft: Draft) => string[];
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
const page: Page = await import(join(FOLDER, "views/tunnels/order-draft.ts"));

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

test.each([
  ["Targets: 2: server: there is no server of this name.", "server", "There is no server of this name."],
  ["Targets: 2: via: home cannot be the entry.", "via", "Home cannot be the entry."],
  ["targets: 2: transport: home does not offer lwo.", "transport", "Home does not offer lwo."],
  ["Targets: 2: home is there twice.", "server", "home is there twice."],
])("what is wrong with a target is told at its field, wherever that is moved: %s", (error, field, text) => {
  const [first, second] = page.draftOf({ ...TV, order: ORDER }, "managed").targets;
  if (first === undefined || second === undefined) throw new Error("there are not two targets");
  expect(page.faultIn(error, [first, second])).toEqual({ field: page.fieldOf(second, field), text });
  expect(page.faultIn(error, [second, first])).toEqual({ field: page.fieldOf(first, field), text });
});

test("what is wrong with no target is told below the form", () => {
  const { targets } = page.draftOf({ ...TV, order: ORDER }, "managed");
  for (const error of [
    "None of the targets answers.",
    "Targets: 3: server: is not there.",
    "Name: is taken.",
  ])
    expect(page.faultIn(error, targets)).toBeNull();
});

test("a form with a tunnel's order asks for the same again", () => {
  const { at: _, ...asked } = ORDER;
  const same = { ...asked, back_when_quiet: false };
  expect(page.bodyOf(page.draftOf({ ...TV, order: ORDER }, "managed"))).toEqual(same);
  const { back_after_minutes: __, ...never } = ORDER;
  expect(page.draftOf({ ...TV, order: never }, "managed").back).toBe("0");
});

test("a form for a tunnel that leads nowhere asks for what it led to last", () => {
  const { at: _, ...rules } = ORDER;
  const draft = page.draftOf({ ...GONE, last: rules }, "managed");
  expect(page.bodyOf(draft)).toEqual({ ...rules, back_when_quiet: false });
  const never: Last = { ...rules, back_after_minutes: 0, back_when_quiet: true };
  expect(page.draftOf({ ...GONE, last: never }, "managed")).toMatchObject({ back: "0", whenQuiet: true });
  const one = page.draftOf({ ...GONE, last: { targets: rules.targets.slice(1) } }, "managed");
  expect(one.targets.map(({ server, via }) => [server, via])).toEqual([
    ["home", "work"],
    ["", ""],
  ]);
  expect(one.back).toBe("10");
});

test("a form without an order begins with the tunnel's target, and asks for what was written", () => {
  const draft = page.draftOf({ ...TV, wanted_via: "work" }, "managed");
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
  const changes = (row: Partial<TunnelRow>) => page.whatChanges(row, page.draftOf(row, "managed"));
  expect(changes({ ...TV, order: ORDER })).toEqual([
    "The first of these that works is used: Sweden and home via work. Each one that does not work takes 10 to 30 seconds.",
    "They replace its present targets: Sweden · home via work.",
    "Its devices stay connected meanwhile, and if none of the targets works, the tunnel keeps its server. At another server, open connections end.",
  ]);
  expect(changes(TV).slice(0, 2)).toEqual([
    "The first of these that works is used: home and target 2. Each one that does not work takes 10 to 30 seconds.",
    "They replace its present target: home.",
  ]);
  expect(changes(GONE).slice(1)).toEqual(["Its devices have internet once one of the targets answers."]);
  // They have none now.
  for (const down of [{ state: "reconnecting" as const }, { unanswered: true }])
    expect(changes({ ...TV, ...down }).at(-1)).toBe(
      "Its devices have internet once one of the targets answers.",
    );
});

test("what is being typed is told once it is whole", () => {
  const form = page.newForm(page.draftOf(TV, "managed"));
  const told = (of: Form) => page.whatChanges(TV, of.told)[0];
  const targets = form.draft.targets.map((each) => ({ ...each, server: `${each.server}Swe` }));
  const typed = page.edited(form, { targets });
  expect(typed.draft.targets).toEqual(targets);
  expect(told(typed)).toContain("used: home and target 2.");
  expect(told(page.settled(typed))).toContain("used: homeSwe and Swe.");
});
