import { expect, test } from "bun:test";
import { nextTurn } from "../../src/base/queue.ts";
import { Turns } from "../../src/base/turns.ts";

/** Work that takes so long, on a clock that nothing else moves. */
function worldOf(ms: number) {
  let now = 0;
  const done: string[] = [];
  const turns = new Turns(() => now);
  const run = (client: string, name = client) =>
    turns.run(client, async () => {
      now += ms;
      done.push(name);
      return name;
    });
  return { done, run, turns };
}

test("work of some milliseconds begins in each turn, and all of it ends", async () => {
  const { done, run } = worldOf(1);
  const all = Array.from({ length: 50 }, (_, at) => run("phone", `${at}`));
  const counts: number[] = [];
  for (; done.length < 50; await nextTurn()) counts.push(done.length);
  counts.push(done.length);
  const steps = counts.slice(1).map((count, at) => count - (counts[at] ?? 0));
  expect(counts[0]).toBe(5);
  expect(Math.max(...steps)).toBeLessThanOrEqual(6);
  expect(await Promise.all(all)).toEqual(Array.from({ length: 50 }, (_, at) => `${at}`));
});

test("who asks once waits for one of the many of another client, not for all", async () => {
  const { done, run } = worldOf(10);
  const many = Array.from({ length: 20 }, () => run("greedy"));
  await run("phone");
  expect(done.length).toBeLessThanOrEqual(3);
  await Promise.all(many);
});

test("work that waits holds up nothing, and a failure is only its caller's", async () => {
  const { run, turns } = worldOf(10);
  const first = run("a");
  const never = turns.run("a", () => new Promise(() => {}));
  const failing = turns.run("b", () => Promise.reject(new Error("no")));
  const thrown = turns.run("b", () => {
    throw new Error("at once");
  });
  const failed = await Promise.all([failing, thrown].map((each) => each.catch(({ message }) => message)));
  expect(failed).toEqual(["no", "at once"]);
  expect([await first, await run("c"), Bun.peek.status(never)]).toEqual(["a", "c", "pending"]);
});
