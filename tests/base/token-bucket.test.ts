import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { TokenBucket } from "../../src/base/token-bucket.ts";

describe("a token bucket", () => {
  const BURST = 5;
  const EVERY_MS = 1_000;
  /** Pauses between calls. */
  const pauses = fc.array(fc.oneof(fc.nat(50), fc.nat(2_500), fc.nat(60_000)), { maxLength: 200 });

  test("allows its burst at once, and then one a second", () => {
    const bucket = new TokenBucket(BURST, EVERY_MS);
    const allowed = Array.from({ length: 1_000 }, (_, index) => bucket.allows(1e9 + index * 10));
    expect(allowed.slice(0, 6)).toEqual([true, true, true, true, true, false]);
    expect(allowed.filter(Boolean)).toHaveLength(BURST + 9);
  });

  test("bounds the rate in any period, whatever the pattern of calls", () => {
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
});

function timesAfter(waits: readonly number[]): number[] {
  let time = 1e9;
  return waits.map((wait) => {
    time += wait;
    return time;
  });
}
