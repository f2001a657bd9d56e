import { expect, test } from "bun:test";
import { dearerPackets, type Result } from "../../rig/bench/compare.ts";
import { measurementOf } from "../../rig/bench/measure.ts";

const TURNS = 12;

/** A run in which a packet takes that share of a minimal gateway's, on a machine that needs `ns` for the latter. */
function run(share: number, ns = 1_000, name = "packet up, IPv4"): Result {
  const noise = Array.from({ length: TURNS }, (_, turn) => 1 + 0.004 * ((turn % 3) - 1));
  const sides = {
    portcullis: noise.map((each) => each * share * ns),
    wgQuick: noise.map(() => ns),
  };
  return { measurements: [measurementOf({ name, unit: "ns", ...sides })] } as unknown as Result;
}

test("a packet that has become dearer by 5 % is told with both shares, also from a machine of another speed", () => {
  const told = ["packet up, IPv4: ×1.26 of a minimal gateway, was ×1.20"];
  expect(dearerPackets(run(1.2), run(1.26))).toEqual(told);
  expect(dearerPackets(run(1.2, 1_000), run(1.26, 700))).toEqual(told);
});

test("one that is dearer by 2 %, cheaper, new, or no packet is not told", () => {
  expect(dearerPackets(run(1.2), run(1.224))).toEqual([]);
  expect(dearerPackets(run(1.26), run(1.2, 3_000))).toEqual([]);
  expect(dearerPackets(run(1.2, 1_000, "packet down, IPv4"), run(1.5))).toEqual([]);
  expect(dearerPackets(run(1.2, 1_000, "switch"), run(1.5, 1_000, "switch"))).toEqual([]);
});
