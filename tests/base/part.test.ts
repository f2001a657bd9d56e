import { expect, test } from "bun:test";
import { closeAll, lasting, type Part, reloadAll, runAll } from "../../src/base/part.ts";
import { nextTurn } from "../../src/base/queue.ts";
import { Clock } from "../fake/clock.ts";

const life = (clock: Clock, signal: AbortSignal, faults: string[] = []) => ({
  ...{ clock, signal, failing: new Map<string, string>() },
  report: (fault: string) => void faults.push(fault),
});
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
  runAll(parts, life(new Clock(0, () => {}), ending.signal, faults));
  await nextTurn();
  expect(faults.toSorted()).toEqual(["broken: refused", "hasty: at once"]);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  ending.abort();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

test("a part that fails is run again, later each time, and what it had begun has ended; that is told once", async () => {
  const [clock, faults, ending] = [new Clock(0, () => {}), [] as string[], new AbortController()];
  const runs: { at: number; signal: AbortSignal }[] = [];
  let isBroken = true;
  const part: Part = {
    name: "bridge",
    run: async (signal) => {
      runs.push({ at: clock.monotonic(), signal });
      if (isBroken) throw new Error("refused");
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  };
  const given = life(clock, ending.signal, faults);
  runAll([part], given);
  await clock.pass(1_800_000);
  const pauses = runs.map(({ at }, index) => at - (runs[index - 1]?.at ?? at)).map(Math.round);
  expect(pauses.slice(0, 5)).toEqual([0, 1_000, 2_000, 4_000, 8_000]);
  expect(pauses.at(-1)).toBe(300_000);
  expect(runs.every(({ signal }) => signal.aborted)).toBe(true);
  expect([faults, [...given.failing]]).toEqual([["bridge: refused"], [["bridge", "refused"]]]);
  isBroken = false;
  await clock.pass(300_000);
  expect([runs.at(-1)?.signal.aborted, given.failing.size]).toEqual([false, 0]);
  const { length } = runs;
  await clock.pass(600_000);
  expect(runs).toHaveLength(length);
  ending.abort();
});

test("what lasts is waited for when it is closed, and what never ran is not", async () => {
  const held = Promise.withResolvers<void>();
  const part = lasting("bridge", () => held.promise);
  await closeAll([part, { name: "broken", close: failing }]);
  runAll([part], life(new Clock(0, () => {}), new AbortController().signal));
  let isClosed = false;
  const closed = closeAll([part]).then(() => {
    isClosed = true;
  });
  await Promise.resolve();
  expect(isClosed).toBe(false);
  held.resolve();
  await closed;
});
