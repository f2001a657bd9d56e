import { expect, test } from "bun:test";
import fc from "fast-check";
import { FORWARDS } from "../../src/forwards/saved.ts";

const TV = { device: "02:00:00:00:00:20", protocol: "tcp", port: 6881 };
const FIXED = { ...TV, fixed: 51_413, address: "192.168.7.20" };

test("what is saved is read again as it was", () => {
  const text = JSON.stringify([FIXED, { ...TV, protocol: "udp" }]);
  expect(FORWARDS.format(FORWARDS.parse(text))).toBe(text);
  expect(FORWARDS.isValid(text)).toBe(true);
});

test.each([
  [{ ...TV, device: "TV" }],
  [{ ...TV, device: "02-00-00-00-00-20" }],
  [{ ...TV, protocol: "sctp" }],
  [{ ...TV, port: 0 }],
  [{ ...TV, port: 65_536 }],
  [{ ...TV, fixed: 0 }],
  [{ ...TV, address: "fd00:7::20" }],
  [{ ...TV, address: "192.168.7.020" }],
  [{ ...TV, more: 1 }],
])("a backup with %j is not one that the gateway has written", (forward) => {
  expect(FORWARDS.isValid(JSON.stringify([TV, forward]))).toBe(false);
});

test("whatever the text, what is read from it can be saved", () => {
  const anything = fc.oneof(fc.string(), fc.json());
  fc.assert(fc.property(anything, (text) => FORWARDS.isValid(FORWARDS.format(FORWARDS.parse(text)))));
});

test("forwards of a backup are added to those that are here, and replace those of the same device and port", () => {
  const here = JSON.stringify([TV, { ...TV, port: 80 }]);
  expect(JSON.parse(FORWARDS.merge(here, JSON.stringify([FIXED])))).toEqual([FIXED, { ...TV, port: 80 }]);
  expect(FORWARDS.merge(null, "[]")).toBe("[]");
  const many = (from: number) =>
    JSON.stringify(Array.from({ length: FORWARDS.max }, (_, at) => ({ ...TV, port: from + at })));
  expect(FORWARDS.merge(many(1), many(1_000))).toBe(many(1_000));
});
