import { expect, test } from "bun:test";
import { Fault } from "../../src/base/fault.ts";

const failing = () => {
  throw new Error("full");
};

test("what fails again and again is logged once, and again after it has worked", async () => {
  const lines: string[] = [];
  const log = { warn: (line: string) => void lines.push(line) };
  const fault = new Fault("the list could not be written");
  expect([fault.attempt(log, failing), fault.attempt(log, failing), fault.lasts]).toEqual([
    false,
    false,
    true,
  ]);
  await fault.attemptAsync(log, async () => failing());
  expect(lines).toEqual(["the list could not be written: full"]);
  expect([fault.attempt(log, () => {}), fault.lasts]).toEqual([true, false]);
  await fault.attemptAsync(log, async () => failing());
  expect([lines.length, fault.lasts]).toEqual([2, true]);
  await fault.attemptAsync(log, async () => {});
  expect(fault.lasts).toBe(false);
});
