import { expect, test } from "bun:test";
import { coalesced, nextTurn, Queue } from "../../src/base/queue.ts";

test("readings that follow one another run at the same time, and never together with other work", async () => {
  const queue = new Queue();
  const order: string[] = [];
  const work = (name: string) => async () => {
    order.push(`${name} begins`);
    await nextTurn();
    order.push(`${name} ends`);
  };
  void queue.add(work("load"));
  void queue.addReading(work("table"));
  void queue.addReading(work("rules"));
  void queue.add(work("repair"));
  void queue.addReading(work("table"));
  await queue.drained();
  expect(order).toEqual([
    ...["load begins", "load ends"],
    ...["table begins", "rules begins", "table ends", "rules ends"],
    ...["repair begins", "repair ends"],
    ...["table begins", "table ends"],
  ]);
});

test("a reading that fails is passed to its caller only", async () => {
  const queue = new Queue();
  const failed = queue.addReading(() => Promise.reject(new Error("unreadable")));
  const read = queue.addReading(() => Promise.resolve("read"));
  const done = queue.add(() => "done");
  expect(await Promise.allSettled([failed, read, done])).toEqual([
    { status: "rejected", reason: new Error("unreadable") },
    { status: "fulfilled", value: "read" },
    { status: "fulfilled", value: "done" },
  ]);
});

test("coalesced work runs once more for all calls that come while it runs", async () => {
  const runs: PromiseWithResolvers<void>[] = [];
  const call = coalesced(() => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  });
  call();
  await nextTurn();
  for (let time = 0; time < 10; time += 1) call();
  await nextTurn();
  expect(runs).toHaveLength(1);
  runs[0]?.resolve();
  await nextTurn();
  expect(runs).toHaveLength(2);
  runs[1]?.resolve();
  await nextTurn();
  expect(runs).toHaveLength(2);
});
