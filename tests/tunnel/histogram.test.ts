import { expect, test } from "bun:test";
import fc from "fast-check";
import { CONNECT_BOUNDS_SECONDS, histogramOf, observed } from "../../src/tunnel/histogram.ts";

test("a bound belongs to its bucket, and what is above all bounds is in the count alone", () => {
  const histogram = [0.5, 1, 1.1, 5, 5.1].reduce(observed, histogramOf([1, 5]));
  expect(histogram).toEqual({ bounds: [1, 5], counts: [2, 4], sum: 12.7, count: 5 });
});

test("each bucket has what is at most its bound, whatever was observed and in whatever order", () => {
  const seconds = fc.double({ min: 0, max: 100, noNaN: true });
  fc.assert(
    fc.property(fc.array(seconds), (values) => {
      const { counts, count } = values.reduce(observed, histogramOf(CONNECT_BOUNDS_SECONDS));
      expect(counts).toEqual(
        CONNECT_BOUNDS_SECONDS.map((bound) => values.filter((each) => each <= bound).length),
      );
      expect(count).toBe(values.length);
    }),
  );
});

test("observing leaves the former histogram as it was", () => {
  const empty = histogramOf([1]);
  observed(empty, 0.5);
  expect(empty).toEqual({ bounds: [1], counts: [0], sum: 0, count: 0 });
});
