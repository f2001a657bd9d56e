import { expect, test } from "bun:test";
import { join } from "node:path";
import { slow } from "../fast.ts";

// The page's own types need those of the browser: only what is used here.
type Look = "open" | "silent" | "closed" | "direct" | "outside";
interface Device {
  id: string;
  title: string;
  icon: string;
  group: string;
  exit: string;
  isRemote: boolean;
  isOnline: boolean;
  rate: number;
}
interface Exit {
  id: string;
  look: Look;
  isTunnel: boolean;
  name: string;
  place: string;
  isDefault: boolean;
  rate: null;
  target: string | null;
}
interface Home {
  devices: Device[];
  exits: Exit[];
  rules: { id: string; title: string; exit: string }[];
  gate: string;
}
interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}
interface Plan {
  shape: string;
  width: number;
  height: number;
  gate: Box;
  rows: (Box & {
    id: string;
    title: string;
    devices: Device[];
    strands: { lane: string; width: number }[];
  })[];
  lanes: (Box & { id: string; look: Look; middle: number })[];
  lines: { id: string; look: string; d: string; width: number; part: string; of: string[] }[];
  exits: { lane: { id: string }; sentence: Box | null; place: Box; target: Box | null; rules: Box[] }[];
  rings: { row: string }[];
}

const {
  planOf,
}: { planOf: (home: Home, look: { width: number; em: number; open: string | null }) => Plan | null } =
  await import(join(import.meta.dir, "../../src/dashboard/picture/plan-of.ts"));
const { exitSentence }: { exitSentence: (lane: object) => string } = await import(
  join(import.meta.dir, "../../src/dashboard/picture/sentences.ts")
);

const WIDTHS = [250, 320, 390, 600, 640, 768, 960, 1_024, 1_166, 1_440, 2_300];
const EXITS: Exit[] = [
  exit("main", { isDefault: true, place: "Gothenburg, Sweden" }),
  exit("amsterdam", { place: "Amsterdam, Netherlands" }),
  exit("blocked", { isTunnel: false, look: "closed" }),
];

function exit(id: string, more: Partial<Exit> = {}): Exit {
  return {
    id,
    name: id,
    look: "open",
    isTunnel: true,
    place: "",
    isDefault: false,
    rate: null,
    target: null,
    ...more,
  };
}

function homeOf(count: number, more: Partial<Home> = {}): Home {
  const groups = [
    "Ana",
    "Ben",
    "Children",
    "Kitchen",
    "Office",
    "Garden",
    "Attic",
    "Hall",
    "Cellar",
    "",
    "Guests",
    "Shed",
  ];
  const devices = Array.from(
    { length: count },
    (_, at): Device => ({
      id: `device-${at}`,
      title: `Device ${at}`,
      icon: at % 3 === 0 ? "phone" : "tv",
      group: groups[at % groups.length] ?? "",
      exit: at % 5 === 1 ? "amsterdam" : at % 7 === 3 ? "blocked" : "main",
      isRemote: at % 10 === 9,
      isOnline: at % 4 !== 0,
      rate: at % 2 === 0 ? at * 400_000 : 0,
    }),
  );
  const rules = [{ id: "1", title: "streaming.example", exit: "amsterdam" }];
  return { devices, exits: EXITS, rules, gate: "whole", ...more };
}

const planFor = (home: Home, width = 1_166, em = 1, open: string | null = null): Plan => {
  const plan = planOf(home, { width, em, open });
  if (plan === null) throw new Error(`no picture at ${width}`);
  return plan;
};

slow.test(
  "no label lies on another one, and all are in the picture, at each width, size of letters and number of devices",
  () => {
    const faults: string[] = [];
    for (const count of [1, 3, 8, 12, 61])
      for (const width of WIDTHS)
        for (const em of [1, 1.5, 2]) {
          const moving = EXITS.map((each) =>
            each.id === "main" ? { ...each, target: "Oslo, Norway" } : each,
          );
          for (const home of [homeOf(count), homeOf(count, { exits: moving })]) {
            const plan = planOf(home, { width, em, open: null });
            if (plan === null) continue;
            const labels = labelsOf(plan);
            const at = `${count} devices, ${width} px, ${em * 100} %`;
            for (const [n, one] of labels.entries()) {
              if (one.x < 0 || one.y < 0 || one.x + one.w > width + 1 || one.y + one.h > plan.height + 1)
                faults.push(`${at}: ${one.what} is outside`);
              for (const two of labels.slice(n + 1))
                if (overlaps(one, two)) faults.push(`${at}: ${one.what} lies on ${two.what}`);
            }
          }
        }
    expect(faults.slice(0, 10)).toEqual([]);
  },
);

function labelsOf({ rows, exits }: Plan): (Box & { what: string })[] {
  return [
    ...rows.map((row) => ({ ...row, what: row.title })),
    ...exits.flatMap(({ lane, sentence, place, target, rules }) => [
      // Above a thin tunnel its end reaches over the head of the place, whose text stands lower.
      ...(sentence === null
        ? []
        : [{ ...sentence, h: sentence.h - 8, w: sentence.w / 2, what: `sentence of ${lane.id}` }]),
      { ...place, what: `place of ${lane.id}` },
      ...(target === null ? [] : [{ ...target, what: `target of ${lane.id}` }]),
      ...rules.filter(({ w }) => w > 0).map((rule) => ({ ...rule, what: `rule of ${lane.id}` })),
    ]),
  ];
}

function overlaps(one: Box, two: Box): boolean {
  const inside = 2;
  return (
    one.x + inside < two.x + two.w &&
    two.x + inside < one.x + one.w &&
    one.y + inside < two.y + two.h &&
    two.y + inside < one.y + one.h
  );
}

test("the same facts give the same picture, and stay as they are", () => {
  const home = homeOf(61);
  const before = structuredClone(home);
  expect(planFor(home)).toEqual(planFor(home));
  expect(home).toEqual(before);
});

test("traffic changes widths, and no row, lane or order", () => {
  const quiet = homeOf(61);
  const busy = {
    ...quiet,
    devices: quiet.devices.map((each) => ({ ...each, rate: each.rate * 90 + 1_000 })),
  };
  const order = ({ rows, lanes }: Plan) => [rows.map(({ id }) => id), lanes.map(({ id }) => id)];
  expect(order(planFor(busy))).toEqual(order(planFor(quiet)));
  expect(widthOf(planFor(busy))).toBeGreaterThan(widthOf(planFor(quiet)));
});

const widthOf = ({ rows }: Plan) =>
  rows.flatMap(({ strands }) => strands).reduce((sum, { width }) => sum + width, 0);

test("up to eight devices have a row each; more are folded into at most ten groups at home, of which one unfolds", () => {
  expect(planFor(homeOf(8)).rows).toHaveLength(8);
  const folded = planFor(homeOf(61));
  const atHome = folded.rows.filter(({ devices }) => devices.every(({ isRemote }) => !isRemote));
  expect(atHome.length).toBeLessThanOrEqual(10);
  expect(folded.rows.flatMap(({ devices }) => devices)).toHaveLength(61);
  const [group] = atHome;
  const unfolded = planFor(homeOf(61), 1_166, 1, group?.id);
  expect(unfolded.rows).toHaveLength(folded.rows.length + (group?.devices.length ?? 0));
  // Its lines are those of its devices.
  expect(unfolded.rows.find(({ id }) => id === group?.id)?.strands).toEqual([]);
});

test("a tunnel may have any name, and no row is taken for its lane", () => {
  const names = ["remote", "rest", "outside", "kind", "group"];
  const exits = [...EXITS, ...names.map((name) => exit(name))];
  const devices = homeOf(61).devices.map((each, at) => ({ ...each, exit: names[at % names.length] ?? "" }));
  const { rows, lanes } = planFor(homeOf(61, { exits, devices }));
  const ids = [...rows, ...lanes].map(({ id }) => id);
  expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
});

test("each device is counted in exactly one lane, and a line of it leads there", () => {
  const home = homeOf(61);
  for (const width of [390, 1_166]) {
    const plan = planFor(home, width);
    const led = plan.rows.flatMap(({ id, strands }) => strands.map(({ lane }) => `${id} ${lane}`));
    const drawn = plan.lines.filter(({ part }) => part === "inside").map(({ id }) => id);
    expect(drawn.toSorted()).toEqual(led.toSorted());
  }
});

test("what is blocked ends at the gate: no line leads on", () => {
  for (const width of [390, 1_166]) {
    const outside = planFor(homeOf(12), width).lines.filter(({ part }) => part === "outside");
    expect(outside.map(({ id }) => id)).not.toContain("blocked");
    expect(outside.map(({ id }) => id)).toContain("main");
  }
});

test("a screen reader hears which tunnel is down, and what is blocked by choice", () => {
  const exits = [exit("main", { look: "closed", isDefault: true }), ...EXITS.slice(1)];
  const { lanes } = planFor(homeOf(12, { exits }));
  expect(lanes.filter(({ look }) => look === "closed").map(exitSentence)).toEqual([
    "7 devices wait for main",
    "2 devices are blocked",
  ]);
});

test("a tunnel that moves keeps its line, and has a second one to where it is moved", () => {
  const exits = EXITS.map((each) => (each.id === "main" ? { ...each, target: "Oslo, Norway" } : each));
  for (const width of [390, 1_166]) {
    const { lines } = planFor(homeOf(3, { exits }), width);
    const looks = new Map(lines.map(({ id, look }) => [id, look]));
    expect(looks.get("main")).toBe("open");
    expect(looks.get("main moving")).toBe("moving");
  }
});

test("what goes through the gate goes on in the same line, also while its tunnel moves", () => {
  const exits = EXITS.map((each) => (each.id === "main" ? { ...each, target: "Oslo, Norway" } : each));
  for (const [width, axis] of [
    [390, 1],
    [1_166, 2],
  ] as const)
    for (const home of [homeOf(12), homeOf(12, { exits })]) {
      const { lines, lanes } = planFor(home, width);
      const begin = /^M([\d.]+) ([\d.]+)/.exec(lines.find(({ id }) => id === "main")?.d ?? "");
      expect(Number(begin?.[axis])).toBeCloseTo(lanes.find(({ id }) => id === "main")?.middle ?? -1, 0);
    }
});

test("a device away from home stands outside the house, and its line comes in through the wall", () => {
  const plan = planFor(homeOf(61));
  const remote = plan.rows.find(({ devices }) => devices.every(({ isRemote }) => isRemote));
  expect(plan.rings.map(({ row }) => row)).toContain(remote?.id ?? "none");
  expect(plan.rows.at(-1)?.id).toBe(remote?.id ?? "none");
});

test("where there is no room for a picture there is none", () => {
  expect(planOf(homeOf(3), { width: 230, em: 1, open: null })).toBeNull();
  expect(planOf(homeOf(3), { width: 390, em: 2, open: null })).toBeNull();
});

test("all lines together have at most the room that is theirs, however much is carried", () => {
  const home = homeOf(61);
  const devices = home.devices.map((each) => ({ ...each, rate: 900_000_000 }));
  expect(widthOf(planFor({ ...home, devices }))).toBeLessThanOrEqual(84 + 2 * 30);
});
