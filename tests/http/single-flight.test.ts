import { expect, test } from "bun:test";
import { oneByOne, shared } from "../../src/http/single-flight.ts";

test("reads that are asked for at the same time are one, and one at a time", async () => {
  let running = 0;
  let count = 0;
  const read = shared(async () => {
    running += 1;
    expect(running).toBe(1);
    await Bun.sleep(1);
    running -= 1;
    count += 1;
    return count;
  });
  const first = [read(), read(), read()];
  await Bun.sleep(0);
  const later = [read(), read()];
  expect(await Promise.all([...first, ...later])).toEqual([1, 1, 1, 2, 2]);
  expect(await read()).toBe(3);
});

test("a read tells nothing that was before it was asked for", async () => {
  let truth = "old";
  const read = shared(async () => {
    const seen = truth;
    await Bun.sleep(5);
    return seen;
  });
  const before = read();
  await Bun.sleep(0);
  truth = "new";
  expect(await read()).toBe("new");
  expect(await before).toBe("old");
});

test("a read that fails fails for those who share it, and the next one is tried", async () => {
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

test("writes are done in order, one each time the event loop goes round, and one that fails stops no other", async () => {
  const write = oneByOne();
  const log: string[] = [];
  const work = (name: string) =>
    write(() => {
      log.push(name);
      setImmediate(() => log.push(`around after ${name}`));
      if (name === "b") throw new Error("no");
      return name;
    });
  const outcomes = await Promise.allSettled(["a", "b", "c"].map(work));
  expect(outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : "failed"))).toEqual([
    "a",
    "failed",
    "c",
  ]);
  expect(log).toEqual(["a", "around after a", "b", "around after b", "c"]);
});
