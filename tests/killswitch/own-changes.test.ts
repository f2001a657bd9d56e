import { expect, test } from "bun:test";
import { OwnChanges } from "../../src/killswitch/own-changes.ts";

/** A clock on which time goes by only when `pass` is called. */
function world() {
  const passed = Promise.withResolvers<void>();
  return { changes: new OwnChanges({ sleep: () => passed.promise }), pass: passed.resolve };
}

test("each of our changes is reported once; the next report is of another program's change", async () => {
  const { changes } = world();
  await changes.make(async () => {});
  await changes.make(async () => {});
  expect([changes.take(), changes.take(), changes.take()]).toEqual([true, true, false]);
});

test("a report that comes before the program ends is of our change", async () => {
  const { changes } = world();
  await changes.make(async () => expect(changes.take()).toBe(true));
  expect(changes.take()).toBe(false);
});

test("no report is expected of a change that failed, was forgotten, or was made long ago", async () => {
  const { changes, pass } = world();
  await expect(changes.make(() => Promise.reject(new Error("refused")))).rejects.toThrow("refused");
  expect(changes.take()).toBe(false);
  await changes.make(async () => {});
  changes.forget();
  expect(changes.take()).toBe(false);
  await changes.make(async () => {});
  pass();
  await Bun.sleep(0);
  expect(changes.take()).toBe(false);
});

test("that the table is gone is of our change only if that leaves none", async () => {
  const { changes } = world();
  // The kernel reports nothing if an element was there before.
  await changes.make(async () => {});
  expect(changes.take(true)).toBe(false);
  await changes.make(async () => {}, true);
  expect([changes.take(true), changes.take(true), changes.take()]).toEqual([true, false, true]);
});
