import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { pauseAfter as pauseWhere } from "../../src/tunnel/backoff.ts";

const MAX_MS = 60_000;
const attempt = fc.nat(10_000);
/** Math.random(): 1 is never drawn. */
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

function pauseAfter(attempt: number, chance: number): number {
  return pauseWhere(attempt, chance, true);
}

describe("the pause after an attempt", () => {
  test("is the longest from the first where the uplink seems to be down", () => {
    expect([0, 1, 20].map((number) => pauseWhere(number, 0.5, false))).toEqual(
      Array(3).fill(pauseAfter(20, 0.5)),
    );
  });

  test("begins below 3 s and doubles", () => {
    expect([0, 1, 2, 3, 4].map((number) => pauseAfter(number, 0))).toEqual([
      1_250, 2_500, 5_000, 10_000, 20_000,
    ]);
  });

  test("never shrinks from one attempt to the next where chance is the same", () => {
    fc.assert(
      fc.property(attempt, random, (number, chance) => {
        expect(pauseAfter(number + 1, chance)).toBeGreaterThanOrEqual(pauseAfter(number, chance));
      }),
    );
  });

  test("is never longer than 60 s, and never shorter than half of what it could be", () => {
    fc.assert(
      fc.property(attempt, random, (number, chance) => {
        const pause = pauseAfter(number, chance);
        expect(pause).toBeLessThanOrEqual(MAX_MS);
        expect(pause).toBeGreaterThanOrEqual(pauseAfter(number, 0));
        expect(pause).toBeLessThanOrEqual(2 * pauseAfter(number, 0));
      }),
    );
  });

  test("spreads over half of its length, so that two homes do not knock together", () => {
    expect(pauseAfter(20, 0)).toBe(MAX_MS / 2);
    expect(pauseAfter(20, 0.5)).toBe((MAX_MS * 3) / 4);
  });
});
