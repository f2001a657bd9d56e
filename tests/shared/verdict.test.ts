import { expect, test } from "bun:test";
import { type KillSwitchFacts, type TunnelFacts, verdictOf } from "../../src/shared/verdict.ts";

const BOTH = { firewall: true, routing: true };
const switchOf = (layers: Record<"firewall" | "routing", boolean>, wanted = true): KillSwitchFacts => ({
  wanted,
  layers: [
    { name: "firewall", holds: layers.firewall },
    { name: "routing", holds: layers.routing },
  ],
});

type Told = TunnelFacts["state"] | "unanswered" | "moving";

function tunnelsOf(told: Readonly<Record<string, Told>>): TunnelFacts[] {
  return Object.entries(told).map(([name, state]) => ({
    name,
    state: state === "unanswered" ? "connected" : state === "moving" ? "connecting" : state,
    unanswered: state === "unanswered",
    ...(state === "moving"
      ? { server: "", location: "", carrying: { server: `old-${name}`, location: "Oslo" } }
      : { server: `${name}-1`, location: "Oslo" }),
  }));
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
      devices: { default_exit: standard, devices: exits.map((exit) => ({ exit, tx_bytes: 1 })) },
    });
    if (!("through" in verdict)) throw new Error(verdict.name);
    const { name, through, without } = verdict;
    expect({ name: `${name}`, counts: [through, without] }).toEqual({ name: is, counts: [...counts] });
    if (carrying === undefined) return;
    expect(verdict.carrying.map(({ name, server }) => `${name}: ${server}`)).toEqual([...carrying]);
  },
);

const HOME = {
  tunnels: tunnelsOf({ main: "connected" }),
  devices: { default_exit: "main", devices: [{ exit: "main", tx_bytes: 0 }] },
};

test("nothing is judged before it was asked, but a kill switch that is gone is told at once", () => {
  expect(verdictOf({ ...HOME, killswitch: null })).toEqual({ name: "unknown" });
  const killswitch = switchOf(BOTH);
  expect(verdictOf({ ...HOME, killswitch, tunnels: null })).toEqual({ name: "unknown" });
  expect(verdictOf({ ...HOME, killswitch, devices: null })).toEqual({ name: "unknown" });
  const unasked = { tunnels: null, devices: null };
  expect(verdictOf({ ...unasked, killswitch: switchOf({ firewall: false, routing: false }) })).toEqual({
    name: "exposed",
    isOff: false,
  });
  expect(verdictOf({ ...unasked, killswitch: switchOf(BOTH, false) })).toEqual({
    name: "exposed",
    isOff: true,
  });
  expect(verdictOf({ ...unasked, killswitch: switchOf({ firewall: true, routing: false }) })).toEqual({
    name: "weakened",
    layer: "routing",
  });
});

test("at the first steps, a device that has sent nothing does not use the tunnel yet", () => {
  const facts = { ...HOME, killswitch: switchOf(BOTH) };
  expect(verdictOf(facts).name).toBe("protected");
  expect(verdictOf({ ...facts, isFirstRun: true }).name).toBe("unused");
});
