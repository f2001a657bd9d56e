import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { makerOf } from "../../src/devices/maker.ts";

const FILE = join(import.meta.dir, "../../src/devices/makers.txt");

/** As Debian's package ieee-data has them. */
test.each([
  ["b8:27:eb:01:02:03", "Raspberry Pi"],
  ["00:0e:58:ff:ff:ff", "Sonos"],
  ["00:03:93:00:00:00", "Apple"],
  ["00:09:bf:00:00:00", "Nintendo"],
  ["c8:0e:14:00:00:00", "AVM"],
])("%s was made by %s", (mac, maker) => {
  expect(makerOf(mac)).toBe(maker);
});

test("a random address, a prefix and an address that nobody in a home has tell no maker", () => {
  for (const id of [
    "02:00:00:00:00:20",
    "da:a1:19:00:00:00",
    "10.8.0.0/24",
    "fd00::/64",
    "00:00:5e:00:01:01",
  ])
    expect(makerOf(id)).toBeUndefined();
});

test("the file stays small, and no prefix in it is of a random address", () => {
  const text = readFileSync(FILE, "utf8");
  expect(text.length).toBeLessThan(60_000);
  for (const line of text.trimEnd().split("\n")) {
    const [name, steps = ""] = line.split("\t");
    let prefix = 0;
    for (const step of steps.split(" ")) {
      prefix += Number.parseInt(step, 36);
      expect([name, prefix, (prefix >> 16) & 2]).toEqual([name, prefix, 0]);
    }
  }
});
