import { expect, test } from "bun:test";
import { inRange, portsToTry } from "../../src/transports/ports.ts";

const MULLVAD = [
  [53, 53],
  [123, 123],
  [4_000, 33_433],
  [33_565, 51_820],
] as const;

test("the usual port comes first, then those that are often open and that the server has, then one of many", () => {
  expect(portsToTry(51_820, MULLVAD, null)).toEqual([51_820, 53, 18_716]);
  expect(portsToTry(51_820, [...MULLVAD, [443, 443]], null)).toEqual([51_820, 443, 53, 18_716]);
});

test("what has worked here comes first, if the server has it", () => {
  expect(portsToTry(51_820, MULLVAD, 53)).toEqual([53, 51_820, 18_716]);
  expect(portsToTry(51_820, MULLVAD, 80)).toEqual([51_820, 53, 18_716]);
  expect(portsToTry(51_820, [], 53)).toEqual([51_820]);
});

test("a server without other ports is tried at its own alone", () => {
  expect(portsToTry(1_637, [], null)).toEqual([1_637]);
  expect(portsToTry(2_049, [[2_049, 2_049]], null)).toEqual([2_049]);
});

test("both ends belong to a range", () => {
  expect([53, 52, 33_433, 33_434].map((port) => inRange(port, MULLVAD))).toEqual([true, false, true, false]);
});
