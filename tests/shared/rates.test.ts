import { expect, test } from "bun:test";
import { parseRate, rateText } from "../../src/shared/rates.ts";

test.each([
  ["20/5", { down: 20, up: 5 }, "20 Mbit/s down, 5 Mbit/s up"],
  ["2.5", { down: 2.5, up: 2.5 }, "2.5 Mbit/s each way"],
  ["20/off", { down: 20, up: null }, "20 Mbit/s down"],
  ["off/3", { down: null, up: 3 }, "3 Mbit/s up"],
])("%s is a rate, and is told as it was meant", (text, rate, told) => {
  expect(parseRate(text)).toEqual(rate);
  expect(rateText(rate)).toBe(told);
});

test.each(["", "/", "fast", "1/2/3", "-1", "1e3", "20/", "/5", "1,5"])("%j is no rate", (text) => {
  expect(parseRate(text)).toBeUndefined();
});
