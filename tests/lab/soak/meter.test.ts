import { expect, test } from "bun:test";
import { courseOf, growth, type Sample, sampleOf } from "../../rig/soak/meter.ts";

const MINUTE_MS = 60_000;

/** A sample a minute. */
function samplesOf(rss: readonly number[]): Sample[] {
  return rss.map((rssMib, index) => ({ atMs: index * MINUTE_MS, rssMib, descriptors: 30 }));
}

test("the second quarter is compared with the last, and what came before it does not count", () => {
  const warmedUp = [...Array(10).fill(40), ...Array(31).fill(70)];
  expect(courseOf(samplesOf(warmedUp), "rssMib")).toEqual({ second: 70, last: 70, perHour: 0 });
  expect(growth(samplesOf(warmedUp))).toEqual([]);
});

test("a leak of memory is found, and its slope is told", () => {
  const leaking = samplesOf(Array.from({ length: 61 }, (_, minute) => 70 + minute / 2));
  expect(courseOf(leaking, "rssMib")?.perHour).toBeCloseTo(30);
  expect(growth(leaking)).toEqual(["rssMib: grew from 81.0 to 96.5"]);
});

test("a leak of descriptors is found", () => {
  const leaking = samplesOf(Array(61).fill(70)).map((sample, index) => ({
    ...sample,
    descriptors: 30 + index,
  }));
  expect(growth(leaking)).toEqual(["descriptors: grew from 52.0 to 83.0"]);
});

test("a peak that passes is no growth", () => {
  const peak = samplesOf([...Array(50).fill(70), ...Array(5).fill(120), ...Array(6).fill(70)]);
  expect(growth(peak)).toEqual([]);
});

test("nothing is said about a life of less than 20 minutes", () => {
  expect(growth(samplesOf(Array.from({ length: 20 }, (_, minute) => 70 + 10 * minute)))).toEqual([]);
});

test("a sample is that of the process, and null once there is none", () => {
  const sample = sampleOf(process.pid, 5);
  expect(sample?.atMs).toBe(5);
  expect(sample?.rssMib).toBeGreaterThan(10);
  expect(sample?.descriptors).toBeGreaterThan(2);
  expect(sampleOf(2 ** 30, 5)).toBeNull();
});
