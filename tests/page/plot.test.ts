import { expect, test } from "bun:test";
import { areaPath, linePath, timeMarks, valueMarks } from "../../src/dashboard/parts/plot-marks.ts";

const HOUR = 3_600;

test.each([
  ["ten minutes with room for ten", 0, 600, 10, 0, [0, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600]],
  ["on a phone", 30, 630, 3, 0, [300, 600]],
  ["a day, east of Greenwich", 0, 24 * HOUR, 4, HOUR / 2, [5.5, 11.5, 17.5, 23.5].map((h) => h * HOUR)],
  ["two months", 0, 61 * 24 * HOUR, 5, 0, [0, 14, 28, 42, 56].map((days) => days * 24 * HOUR)],
])("marks of times: %s", (_, from, to, most, ahead, marks) => {
  expect(timeMarks(from, to, most, ahead)).toEqual(marks);
});

test.each([
  [5_000, 3, [0, 2_000, 4_000]],
  [39_000_000, 4, [0, 10e6, 20e6, 30e6]],
  [22, 5, [0, 5, 10, 15, 20]],
  [20, 0.2, [0, 20]],
])("marks of values up to %p", (top, most, marks) => {
  expect(valueMarks(top, most)).toEqual(marks);
});

test("a line ends at a gap and begins again after it; with steps, a height lasts until the next point", () => {
  const points = [[0, 5], [2, 1.26], null, null, [4, 3], [6, 5], null] as const;
  expect(linePath(points, false)).toBe("M0 5L2 1.3M4 3L6 5");
  expect(linePath(points, true)).toBe("M0 5H2V1.3M4 3H6V5");
  expect(areaPath(points, false, 9)).toBe("M0 5L2 1.3V9H0ZM4 3L6 5V9H4Z");
  expect(linePath([null], false)).toBe("");
});
