import { expect, test } from "bun:test";
import { ENGLISH } from "../../src/base/voice.ts";
import {
  type DeviceFacts,
  deviceFactsOf,
  isExposed,
  type KillSwitchFacts,
  type TunnelFacts,
  verdictOf,
} from "../../src/shared/verdict.ts";
import { shownVerdict } from "../../src/tunnel/verdict.ts";

const BOTH = { firewall: true, routing: true };
const switchOf = (layers: Record<"firewall" | "routing", boolean>, wanted = true): KillSwitchFacts => ({
  wanted,
  layers: [
    { name: "firewall", holds: layers.firewall, parts: [] },
    { name: "routing", holds: layers.routing, parts: [] },
  ],
  error: null,
});

type Told = TunnelFacts["state"] | "unanswered" | "moving";

function tunnelsOf(told: Readonly<Record<string, Told>>): TunnelFacts[] {
  return Object.entries(told).map(([name, state]) => ({
    name,
    state: state === "unanswered" ? "connected" : state === "moving" ? "connecting" : state,
    unanswered: state === "unanswered",
    ...{ wanted: `${name}-2`, error: null, devices: 1 },
    ...(state === "moving"
      ? { server: "", location: "", carrying: { server: `old-${name}`, location: "Oslo" } }
      : { server: `${name}-1`, location: "Oslo" }),
  }));
}

function usersOf(exits: readonly string[], defaultExit = "main", haveSent = true): DeviceFacts {
  const devices = exits.map((exit) => ({ exit }));
  return deviceFactsOf(devices, { default_exit: defaultExit }, haveSent);
}

interface Case {
  is: string;
  tunnels: Readonly<Record<string, Told>>;
  /** The exits of the devices; the default exit is the first tunnel. */
  exits: readonly string[];
  standard?: string;
  /** Devices through a tunnel that carries, and devices without internet. */
  counts: readonly [through: number, without: number];
  /** Who carries what, as "main: main-1". */
  carrying?: readonly string[];
}

const CASES: readonly Case[] = [
  { is: "protected", tunnels: { main: "connected" }, exits: ["main", "main"], counts: [2, 0] },
  { is: "protected", tunnels: { main: "connected" }, exits: ["main", "blocked"], counts: [1, 0] },
  { is: "protected", tunnels: { main: "connected", tv: "failed" }, exits: ["main"], counts: [1, 0] },
  { is: "unused", tunnels: { main: "connected" }, exits: [], counts: [0, 0] },
  { is: "unused", tunnels: { main: "connected" }, exits: ["blocked"], counts: [0, 0] },
  {
    is: "partly",
    tunnels: { main: "unanswered", tv: "connected" },
    exits: ["main", "main", "tv"],
    counts: [1, 2],
  },
  { is: "partly", tunnels: { main: "disconnected", tv: "connected" }, exits: ["main", "tv"], counts: [1, 1] },
  // A damaged database may have lost a tunnel, and still have who goes through it.
  { is: "partly", tunnels: { main: "connected" }, exits: ["main", "tv"], counts: [1, 1] },
  { is: "partly", tunnels: { main: "connected" }, exits: ["tv"], counts: [0, 1] },
  { is: "blocked", tunnels: { main: "connected" }, exits: ["tv"], standard: "tv", counts: [0, 1] },
  // New devices would go through it, and those that are there have nothing.
  { is: "partly", tunnels: { main: "connected", tv: "reconnecting" }, exits: ["tv"], counts: [0, 1] },
  {
    is: "partly",
    tunnels: { main: "moving", tv: "failed" },
    exits: ["main", "tv"],
    counts: [1, 1],
    carrying: ["main: old-main"],
  },
  {
    is: "moving",
    tunnels: { main: "moving" },
    exits: ["main"],
    counts: [1, 0],
    carrying: ["main: old-main"],
  },
  { is: "moving", tunnels: { main: "connecting" }, exits: ["main"], counts: [0, 0], carrying: [] },
  { is: "moving", tunnels: { main: "connected", tv: "connecting" }, exits: ["main", "tv"], counts: [1, 0] },
  { is: "protected", tunnels: { main: "connected", tv: "connecting" }, exits: ["main"], counts: [1, 0] },
  { is: "stalled", tunnels: { main: "unanswered", tv: "failed" }, exits: ["main", "tv"], counts: [0, 2] },
  { is: "blocked", tunnels: { main: "failed" }, exits: ["main"], counts: [0, 1] },
  {
    is: "blocked",
    tunnels: { main: "reconnecting", tv: "connecting" },
    exits: ["main", "tv"],
    counts: [0, 1],
  },
  { is: "blocked", tunnels: { main: "connected" }, exits: ["blocked"], standard: "blocked", counts: [0, 0] },
  {
    is: "blocked",
    tunnels: { main: "connected", tv: "failed" },
    exits: ["tv"],
    standard: "tv",
    counts: [0, 1],
  },
];

test.each(CASES.map((each) => [JSON.stringify({ ...each.tunnels, exits: each.exits }), each] as const))(
  "%s",
  (_, { is, tunnels, exits, standard = "main", counts, carrying }) => {
    const verdict = verdictOf({
      killswitch: switchOf(BOTH),
      tunnels: tunnelsOf(tunnels),
      devices: usersOf(exits, standard),
    });
    if (!("through" in verdict)) throw new Error(verdict.name);
    const { name, through, without } = verdict;
    expect({ name: `${name}`, counts: [through, without] }).toEqual({ name: is, counts: [...counts] });
    if (carrying === undefined) return;
    expect(verdict.carrying.map(({ name, server }) => `${name}: ${server}`)).toEqual([...carrying]);
  },
);

const HOME = { tunnels: tunnelsOf({ main: "connected" }), devices: usersOf(["main"]) };
const UNASKED = { tunnels: null, devices: null };

test("nothing is judged before it was asked, but a kill switch that is gone is told at once", () => {
  expect(verdictOf({ ...HOME, killswitch: null })).toEqual({ name: "unknown", of: "killswitch" });
  const killswitch = switchOf(BOTH);
  expect(verdictOf({ ...HOME, killswitch, tunnels: null })).toEqual({ name: "unknown", of: "devices" });
  expect(verdictOf({ ...HOME, killswitch, devices: null })).toEqual({ name: "unknown", of: "devices" });
  expect(verdictOf({ ...UNASKED, killswitch: switchOf({ firewall: false, routing: false }) })).toEqual({
    name: "exposed",
    isOff: false,
  });
  expect(verdictOf({ ...UNASKED, killswitch: switchOf(BOTH, false) })).toEqual({
    name: "exposed",
    isOff: true,
  });
});

test("what is not as it should be comes before what tunnels do: a layer, then the last change", () => {
  const by = (killswitch: KillSwitchFacts) => {
    const verdict = verdictOf({ ...HOME, killswitch });
    return verdict.name === "weakened" ? verdict.by : verdict.name;
  };
  expect(by(switchOf({ firewall: true, routing: false }))).toBe("routing");
  expect(by({ ...switchOf({ firewall: false, routing: true }), error: "nft failed" })).toBe("firewall");
  expect(by({ ...switchOf(BOTH), error: "nft failed" })).toBe("change");
  expect(by(switchOf(BOTH))).toBe("protected");
});

test("a gateway through which no device has sent anything is not used yet", () => {
  const facts = { ...HOME, killswitch: switchOf(BOTH) };
  expect(verdictOf(facts).name).toBe("protected");
  expect(verdictOf({ ...facts, devices: usersOf(["main"], "main", false) }).name).toBe("unused");
});

function toldOf(devices: DeviceFacts, online = true, outside = 0) {
  const verdict = verdictOf({
    killswitch: switchOf(BOTH),
    tunnels: tunnelsOf({ main: "connected" }),
    devices,
  });
  return shownVerdict(verdict, { error: null, online, outside: { devices: outside, targets: [] } }, ENGLISH);
}

test("whom a quota blocks has no internet, whatever the exit; whom it slows down or only tells has", () => {
  const quota = { megabytes: 1, every: "day", at_end: "blocked", used_bytes: 1_000_000 } as const;
  const shared = { ...quota, used_bytes: 0 };
  const devices = [
    ...[{ exit: "main", quota }, { exit: "direct", quota }, { exit: "blocked", quota }, { exit: "main" }],
    ...[
      { exit: "main", quota: { ...quota, at_end: "told" } as const },
      { exit: "tv", quota },
    ],
  ];
  const facts = (all: typeof devices, shared_quota: typeof quota | typeof shared) =>
    deviceFactsOf(all, { default_exit: "main", shared_quota }, true);
  // The device with the exit tv has none because there is no such tunnel, and counts once.
  expect(toldOf(facts(devices, shared))).toMatchObject({ through: 2, without: 3 });
  expect(toldOf(facts(devices, quota))).toMatchObject({ through: 1, without: 4 });
  expect(toldOf(facts(devices, shared), true, 1).text).not.toContain("outside the tunnels");
  expect(toldOf(facts([{ exit: "direct" }], shared), true, 1).text).toContain("outside the tunnels");
});

test("whom an order has left blocked waits for a tunnel, unless one of them is up: then a schedule blocks", () => {
  const waiting = (exit_order: readonly string[]) =>
    toldOf(
      deviceFactsOf([{ exit: "blocked", exit_order }, { exit: "main" }], { default_exit: "main" }, true),
    );
  expect(waiting(["tv", "blocked"])).toMatchObject({
    without: 1,
    why: "1 device is blocked until one of its tunnels is up.",
  });
  expect(waiting(["tv", "main", "blocked"])).toMatchObject({ name: "protected", without: 0, why: null });
});

test("devices of a tunnel that the gateway does not have are told to have no internet, and why", () => {
  const why = "The tunnel tv is not known: 1 device is blocked until it is connected.";
  expect(toldOf(usersOf(["main", "tv"]))).toMatchObject({ title: "1 device has no internet", why });
  expect(toldOf(usersOf(["tv"], "tv"))).toMatchObject({ title: "Blocked", text: "Nothing leaves.", why });
});

test("while the uplink is down, a tunnel that is not given up yet does not hide it", () => {
  expect(toldOf(usersOf(["main"])).why).toBeNull();
  expect(toldOf(usersOf(["main"]), false).why).toStartWith("The uplink is down");
});

test("one layer of the kill switch is enough to hold back what would leave, also for the picture and the list", () => {
  for (const wanted of [true, false])
    for (const firewall of [true, false])
      for (const routing of [true, false]) {
        const killswitch = switchOf({ firewall, routing }, wanted);
        const { name } = verdictOf({ killswitch, ...HOME });
        expect({ firewall, routing, name }).toEqual({
          ...{ firewall, routing },
          name: isExposed(killswitch) ? "exposed" : firewall && routing ? "protected" : "weakened",
        });
        expect(isExposed(killswitch)).toBe(!wanted || !(firewall || routing));
      }
});
