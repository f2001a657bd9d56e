import { expect, test } from "bun:test";
import type { Policy } from "../../src/killswitch/policy.ts";
import { POLICIES } from "../killswitch/example.ts";
import { sortSample } from "./sample.ts";
import type { Sort, Sorted } from "./sorting.ts";
import { stateOf } from "./state.ts";
import { propertyOf } from "./ways-named.ts";

const BARE = stateOf("bare", POLICIES.bare);
const MINUTE_MS = 60_000;

test.each<[Sort, "fails" | "passes"]>([
  ["refuted", "passes"],
  ["the same", "passes"],
  ["named", "passes"],
  ["unnamed", "fails"],
  ["undecided", "fails"],
])("a mistake that is sorted as %s: the run %s", async (sort, outcome) => {
  const sorter = { sort: async (): Promise<Sorted> => ({ sort, by: ["gateway > tunnel"] }) };
  const { table, holes } = await sortSample(
    [BARE],
    1,
    MINUTE_MS,
    () => {},
    () => sorter,
  );
  const [total = "0"] = /(?<=of )\d+(?= mistakes)/.exec(table) ?? [];
  expect(Number(total)).toBeGreaterThan(100);
  expect(holes).toBe(outcome === "fails" ? Number(total) : 0);
});

test("no property names what goes from the uplink's cable to another LAN", () => {
  const oneCard = POLICIES["one-armed-connected"];
  expect(propertyOf(oneCard, { iif: "eth0", oif: "wg0" })).toBe("b");
  const two = { ...oneCard, lans: [...oneCard.lans, { ...oneCard.lans[0], interface: "lan1" }] };
  expect(propertyOf(two as Policy, { iif: "eth0", oif: "lan1" })).toBeNull();
});
