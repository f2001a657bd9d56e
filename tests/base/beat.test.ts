import { expect, test } from "bun:test";
import { untilBeat } from "../../src/base/beat.ts";

test("looks of different periods end together, whenever each was begun", () => {
  const ends = (periodMs: number, begun: number) => begun + untilBeat(periodMs, begun);
  for (const begun of [0, 1, 700.5, 1_499, 2_999.9, 86_400_123])
    for (const periodMs of [1_500, 3_000, 6_000, 12_000]) {
      const end = ends(periodMs, begun);
      expect(end % periodMs).toBeCloseTo(0, 3);
      expect(end - begun).toBeGreaterThan(19);
      expect(end - begun).toBeLessThan(periodMs + 20.1);
    }
});
