import { expect, test } from "bun:test";
import { closeAll, lasting, type Part, reloadAll, runAll } from "../../src/base/part.ts";

const failing = () => Promise.reject(new Error("refused"));

test("all begin to reload in their order, before any has ended, and one that fails does not keep the others from it", async () => {
  const done: string[] = [];
  const held = Promise.withResolvers<void>();
  const parts: Part[] = [
    {
      name: "slow",
      reload: async () => {
        done.push("slow begins");
        await held.promise;
        done.push("slow ends");
      },
    },
    { name: "broken", reload: failing },
    { name: "without" },
    {
      name: "hasty",
      reload: () => {
        done.push("hasty");
        throw new Error("another");
      },
    },
    { name: "last", reload: () => void done.push("last") },
  ];
  const reloaded = reloadAll(parts);
  expect(done).toEqual(["slow begins", "hasty", "last"]);
  held.resolve();
  await expect(reloaded).rejects.toThrow("refused");
  expect(done.at(-1)).toBe("slow ends");
});

test("what waits until all have been reloaded comes after the last, and not at all if one has failed", async () => {
  const done: string[] = [];
  const cautious: Part = { name: "cautious", reloaded: () => void done.push("opens") };
  const slow: Part = {
    name: "slow",
    reload: async () => {
      await Promise.resolve();
      done.push("slow ends");
    },
  };
  await reloadAll([cautious, slow]);
  expect(done).toEqual(["slow ends", "opens"]);
  await expect(reloadAll([cautious, slow, { name: "broken", reload: failing }])).rejects.toThrow("refused");
  expect(done).toEqual(["slow ends", "opens", "slow ends"]);
});

test("a part that fails is reported by its name, and the others run", async () => {
  const faults: string[] = [];
  const ending = new AbortController();
  const signals: AbortSignal[] = [];
  const parts: Part[] = [
    { name: "broken", run: failing },
    {
      name: "hasty",
      run: () => {
        throw new Error("at once");
      },
    },
    { name: "sound", run: (signal) => void signals.push(signal) },
  ];
  runAll(parts, ending.signal, (fault) => faults.push(fault));
  await Promise.resolve();
  await Promise.resolve();
  expect(signals).toEqual([ending.signal]);
  expect(faults.toSorted()).toEqual(["broken: refused", "hasty: at once"]);
});

test("what lasts is waited for when it is closed, and what never ran is not", async () => {
  const held = Promise.withResolvers<void>();
  const part = lasting("bridge", () => held.promise);
  await closeAll([part, { name: "broken", close: failing }]);
  runAll([part], new AbortController().signal, () => {});
  let isClosed = false;
  const closed = closeAll([part]).then(() => {
    isClosed = true;
  });
  await Promise.resolve();
  expect(isClosed).toBe(false);
  held.resolve();
  await closed;
});
