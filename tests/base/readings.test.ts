import { expect, test } from "bun:test";
import { shared } from "../../src/base/readings.ts";

/** A read that ends when it is released, and returns its number. */
function heldRead() {
  const held: { release: () => void }[] = [];
  let count = 0;
  const read = shared(async () => {
    count += 1;
    const mine = count;
    const gate = Promise.withResolvers<void>();
    held.push({ release: gate.resolve });
    await gate.promise;
    return mine;
  });
  return { read, held };
}

test("concurrent calls share a read, and only one read runs at a time", async () => {
  const { read, held } = heldRead();
  const first = [read(), read(), read()];
  await Promise.resolve();
  const later = [read(), read()];
  await Promise.resolve();
  expect(held.length).toBe(1);
  held[0]?.release();
  expect(await Promise.all(first)).toEqual([1, 1, 1]);
  expect(held.length).toBe(2);
  held[1]?.release();
  expect(await Promise.all(later)).toEqual([2, 2]);
});

test("no answer is older than its request", async () => {
  const gate = Promise.withResolvers<void>();
  let truth = "old";
  const read = shared(async () => {
    const seen = truth;
    await gate.promise;
    return seen;
  });
  const before = read();
  await Promise.resolve();
  truth = "new";
  const after = read();
  gate.resolve();
  expect(await Promise.all([before, after])).toEqual(["old", "new"]);
});

test("a failed read fails for all calls that share it, and the next call reads again", async () => {
  let fails = true;
  const read = shared(async () => {
    if (fails) throw new Error("no");
    return "yes";
  });
  const outcomes = await Promise.allSettled([read(), read()]);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  fails = false;
  expect(await read()).toBe("yes");
});
