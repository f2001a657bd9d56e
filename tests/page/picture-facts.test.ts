import { expect, test } from "bun:test";
import { join } from "node:path";

interface Exit {
  id: string;
  look: string;
  place: string;
  target: string | null;
}
interface Now {
  devices: { id: string; exit: string; icon: string; group: string; rate: number }[];
  exits: Exit[];
  rules: { title: string; exit: string }[];
  gate: string;
}

const { homeNowOf }: { homeNowOf: (facts: object) => Now } = await import(
  join(import.meta.dir, "../../src/dashboard/picture/facts.ts")
);

const MAIN = {
  name: "main",
  state: "connected",
  server: "se-1",
  location: "Gothenburg, Sweden",
  wanted: "se-1",
  unanswered: false,
};
const TV = { id: "02:00:00:00:00:20", name: "Living room TV", addresses: [], exit: "main", online: true };
const CAMERA = {
  ...TV,
  id: "02:00:00:00:00:30",
  name: "Door",
  icon: "camera",
  group: "Hall",
  exit: "blocked",
};
const RULE = { id: "1", names: ["bank.example"], prefixes: [], devices: [], exit: "direct", note: "" };

function now(more: object = {}): Now {
  return homeNowOf({
    list: { devices: [TV, CAMERA], default_exit: "main" },
    tunnels: [MAIN],
    destinations: [RULE],
    isOpen: false,
    isWeakened: false,
    isDiverted: false,
    rateOf: () => ({ rx: 100, tx: 25 }),
    tunnelRate: () => null,
    ...more,
  });
}

const looks = ({ exits }: Now) => Object.fromEntries(exits.map(({ id, look }) => [id, look]));

test("an exit is drawn as what it does: it carries, it is stopped, or it leads outside as a person wants", () => {
  expect(looks(now())).toEqual({ main: "open", blocked: "closed", direct: "direct" });
  expect(looks(now({ tunnels: [{ ...MAIN, unanswered: true }] }))).toMatchObject({ main: "silent" });
  expect(looks(now({ tunnels: [{ ...MAIN, state: "reconnecting" }] }))).toMatchObject({ main: "closed" });
  expect(looks(now({ tunnels: [] }))).toMatchObject({ main: "closed" });
  expect(looks(now({ isDiverted: true }))).toMatchObject({ main: "silent" });
});

test("whom a quota blocks is drawn as blocked, by one of its own or by that of all others", () => {
  const quota = { megabytes: 1, every: "day", at_end: "blocked", used_bytes: 1_000_000 };
  const exitsOf = (devices: object[], shared_quota?: object) =>
    now({ list: { devices, default_exit: "main", shared_quota } }).devices.map(({ exit }) => exit);
  const direct = { ...CAMERA, exit: "direct" };
  expect(exitsOf([{ ...TV, quota }, { ...direct, quota }, TV])).toEqual(["blocked", "blocked", "main"]);
  expect(exitsOf([TV, { ...TV, quota: { ...quota, at_end: "told" } }], quota)).toEqual(["blocked", "main"]);
  expect(looks(now({ list: { devices: [{ ...TV, quota }], default_exit: "main" } }))).toMatchObject({
    blocked: "closed",
  });
});

test("without a kill switch, whoever has no tunnel is drawn as leaving outside, whatever its exit is called", () => {
  const open = now({ isOpen: true, tunnels: [{ ...MAIN, state: "failed" }] });
  expect(open.gate).toBe("gone");
  expect(open.devices.map(({ exit }) => exit)).toEqual(["/outside", "/outside"]);
  expect(looks(open)).toEqual({ direct: "direct", "/outside": "outside" });
});

test("a tunnel may be called outside, and is not taken for what leaves outside", () => {
  const tunnels = [
    { ...MAIN, state: "failed" },
    { ...MAIN, name: "outside" },
  ];
  const list = { devices: [TV, { ...CAMERA, exit: "outside" }], default_exit: "main" };
  const open = now({ isOpen: true, tunnels, list });
  const lookOf = new Map(open.exits.map(({ id, look }) => [id, look]));
  expect(open.devices.map(({ exit }) => lookOf.get(exit))).toEqual(["outside", "open"]);
  expect(lookOf.size).toBe(open.exits.length);
});

test("a gate that lacks one layer is not drawn as whole", () => {
  expect([now().gate, now({ isWeakened: true }).gate]).toEqual(["whole", "weakened"]);
});

test("a tunnel that moves leads where its devices still go, and to where it is moved", () => {
  const carrying = { server: "se-1", location: "Gothenburg, Sweden" };
  const moving = { ...MAIN, state: "connecting", server: "", location: "", wanted: "Oslo, Norway", carrying };
  const main = now({ tunnels: [moving] }).exits.find(({ id }) => id === "main");
  expect(main).toMatchObject({ look: "open", place: "Gothenburg, Sweden", target: "Oslo, Norway" });
});

test("a device has the icon that a person gave, or else the one that its name tells, and its rate in bits", () => {
  const [tv, camera] = now().devices;
  expect(tv).toMatchObject({ icon: "tv", group: "", rate: 1_000 });
  expect(camera).toMatchObject({ icon: "camera", group: "Hall" });
});

test("a rule for a destination is drawn beside the exits of devices", () => {
  expect(now().rules).toEqual([{ id: "1", title: "bank.example", exit: "direct" }] as never);
});
