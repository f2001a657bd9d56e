import { expect, test } from "bun:test";
import { parseMac } from "../../src/base/mac.ts";

test("a MAC address is read in either notation and case, and written in one", () => {
  for (const text of ["aa:bb:cc:dd:ee:0f", "AA-BB-CC-DD-EE-0F", "Aa:bB:cc:dd:EE:0f"])
    expect<string | null>(parseMac(text)).toBe("aa:bb:cc:dd:ee:0f");
});

test.each([
  "",
  "aa:bb:cc:dd:ee",
  "aa:bb:cc:dd:ee:ff:00",
  "aa:bb-cc:dd:ee:0f",
  "a:b:c:d:e:f",
  "aabbccddee0f",
  "aa:bb:cc:dd:ee:0g",
  " aa:bb:cc:dd:ee:0f",
  "aa:bb:cc:dd:ee:0f\n",
  "00:00:00:00:00:00",
  "ff:ff:ff:ff:ff:ff",
  "01:00:5e:00:00:fb",
])("%j is not the MAC address of one interface", (text) => {
  expect(parseMac(text)).toBeNull();
});
