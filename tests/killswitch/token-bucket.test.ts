import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { TokenBucket } from "../../src/killswitch/token-bucket.ts";

describe("a token bucket", () => {
  const BURST = 5;
  const EVERY_MS = 1_000;
  /** Pauses between one question and the next. */
  const pauses = fc.array(fc.oneof(fc.nat(50), fc.nat(2_500), fc.nat(60_000)), { maxLength: 200 });

  test("allows its burst at once, and then one each second", () => {
    const bucket = new TokenBucket(BURST, EVERY_MS);
    const allowed = Array.from({ length: 1_000 }, (_, index) => bucket.allows(1e9 + index * 10));
    expect(allowed.slice(0, 6)).toEqual([true, true, true, true, true, false]);
    expect(allowed.filter(Boolean)).toHaveLength(BURST + 9);
  });

  test("bounds what happens in any stretch of time, however the questions come", () => {
    fc.assert(
      fc.property(pauses, (waits) => {
        const bucket = new TokenBucket(BURST, EVERY_MS);
        const times = timesAfter(waits).filter((time) => bucket.allows(time));
        times.forEach((start, first) => {
          times.slice(first).forEach((end, count) => {
            expect(count + 1).toBeLessThanOrEqual(BURST + 1 + (end - start) / EVERY_MS);
          });
        });
      }),
    );
  });

  test("is rested where it was not asked for as long as its burst takes to come back", () => {
    fc.assert(
      fc.property(pauses, (waits) => {
        const bucket = new TokenBucket(BURST, EVERY_MS);
        const times = timesAfter(waits);
        for (const time of times) bucket.allows(time);
        const last = times.at(-1) ?? 1e9;
        expect(bucket.isRested(last + BURST * EVERY_MS)).toBe(true);
        expect(bucket.allows(last + BURST * EVERY_MS)).toBe(true);
      }),
    );
  });

  test("is not rested right after its burst is used up", () => {
    const bucket = new TokenBucket(BURST, EVERY_MS);
    for (let use = 0; use < BURST; use++) bucket.allows(1e9);
    expect(bucket.isRested(1e9)).toBe(false);
    expect(bucket.isRested(1e9 + (BURST - 1) * EVERY_MS)).toBe(false);
  });
});

function timesAfter(waits: readonly number[]): number[] {
  let time = 1e9;
  return waits.map((wait) => {
    time += wait;
    return time;
  });
}
