import { expect, test } from "bun:test";
import { bytesText } from "../../src/cli/bytes.ts";

test("sizes have the units of the page, in powers of 1,000", () => {
  expect([0, 999, 1_000, 12_345_678, 5e15].map(bytesText)).toEqual([
    ...["0 B", "999 B", "1.0 kB", "12.3 MB", "5000.0 TB"],
  ]);
});
