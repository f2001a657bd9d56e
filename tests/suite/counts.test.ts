import { expect, test } from "bun:test";
import { countsIn } from "../rig/suite/job.ts";

const OUTPUT =
  "bun test v1.4.5\n\n 3 pass\n 1 skip\n 2 fail\n 9 expect() calls\nRan 6 tests across 2 files. [5.00ms]\n";

test("a run's tests are counted", () => {
  expect(countsIn(OUTPUT, 1)).toEqual({ passed: 3, failed: 2, skipped: 1 });
});

test("a run without a failure that ends with an error has failed", () => {
  expect(countsIn(OUTPUT.replace(" 2 fail", " 0 fail"), 1)).toEqual({ passed: 3, failed: 1, skipped: 1 });
});

test("a run that ends before its counts has failed, even if it speaks of what may pass", () => {
  expect(countsIn("bun test v1.4.5\n\n(fail) packets that may pass\n", 0).failed).toBe(1);
  expect(countsIn("bun test v1.4.5\n", 0)).toEqual({ passed: 0, failed: 1, skipped: 0 });
});
