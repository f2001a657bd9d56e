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

const MOVE = ["delete element inet portcullis on_main { a }", "add element inet portcullis on_second { a }"];

/** Whether these changes are known to be committed, and what ends the program that commits them. */
function commitOf(own: OwnChanges, changes: readonly string[]) {
  const state = { isCommitted: false, end: () => {}, fail: () => {} };
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  Object.assign(state, { end: resolve, fail: () => reject(new Error("refused")) });
  const work = own.untilCommitted(changes, async (committed) => {
    void committed.then(() => {
      state.isCommitted = true;
    });
    await ended;
  });
  return Object.assign(state, { work });
}

test("changes are committed when the kernel reports all of them at once, and no others", async () => {
  const { changes } = world();
  const move = commitOf(changes, MOVE);
  for (const other of [MOVE.slice(1), [...MOVE, "add element inet portcullis assigned { b }"], []]) {
    changes.committed(other);
    await Bun.sleep(0);
    expect(move.isCommitted).toBe(false);
  }
  changes.committed(MOVE.toReversed());
  await Bun.sleep(0);
  expect(move.isCommitted).toBe(true);
});

test("a late report is not that of the same changes made again", async () => {
  const { changes } = world();
  const first = commitOf(changes, MOVE);
  first.end();
  await first.work;
  const again = commitOf(changes, MOVE);
  changes.committed(MOVE);
  await Bun.sleep(0);
  expect(again.isCommitted).toBe(false);
  changes.committed(MOVE);
  await Bun.sleep(0);
  expect(again.isCommitted).toBe(true);
});

test("no report is expected of changes that were refused, or made long ago", async () => {
  const { changes, pass } = world();
  const refused = commitOf(changes, MOVE);
  refused.fail();
  await expect(refused.work).rejects.toThrow("refused");
  const old = commitOf(changes, MOVE);
  old.end();
  await old.work;
  pass();
  await Bun.sleep(0);
  const again = commitOf(changes, MOVE);
  changes.committed(MOVE);
  await Bun.sleep(0);
  expect(again.isCommitted).toBe(true);
});
