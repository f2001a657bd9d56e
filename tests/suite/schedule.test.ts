import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { getPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { slow } from "../fast.ts";
import type { Job } from "../rig/suite/job.ts";
import { runAll } from "../rig/suite/schedule.ts";
import { until } from "../rig/tools/until.ts";

const job = (title: string, script: string): Job => ({ title, argv: ["sh", "-c", script], isTest: false });

test("every job runs once, and what fails does not end the others", async () => {
  const jobs = Array.from({ length: 10 }, (_, at) => job(`${at}`, `exit ${at === 2 ? 1 : 0}`));
  const told: string[] = [];
  const results = await runAll(jobs, (result) => told.push(result.job.title));
  expect(told.toSorted()).toEqual(jobs.map(({ title }) => title).toSorted());
  expect(results.filter(({ failed }) => failed > 0).map((result) => result.job.title)).toEqual(["2"]);
});

test("of the heavy jobs one runs at a time, and others run meanwhile", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-suite-"));
  // Making a folder fails if another job has made it and not yet removed it.
  const heavy = (title: string) => ({
    ...job(
      title,
      `mkdir ${folder}/alone && until test -e ${folder}/met; do sleep 0.01; done && rmdir ${folder}/alone`,
    ),
    isHeavy: true,
  });
  const light = job("light", `until test -e ${folder}/alone; do sleep 0.01; done; touch ${folder}/met`);
  const results = await runAll([heavy("one"), heavy("two"), light], () => {});
  rmSync(folder, { recursive: true });
  expect(results.map(({ job: { title }, failed }) => [title, failed]).toSorted()).toEqual([
    ["light", 0],
    ["one", 0],
    ["two", 0],
  ]);
});

test("what runs in the background is nice to the others, and is not any more once they have ended", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-suite-"));
  const own = getPriority();
  const behind = job(
    "behind",
    `nice; touch ${folder}/begun; until test "$(nice)" = ${own}; do sleep 0.01; done`,
  );
  const front = job("front", `until test -e ${folder}/begun; do sleep 0.01; done`);
  const results = await runAll([{ ...behind, isBackground: true }, front], () => {});
  rmSync(folder, { recursive: true });
  const isRoot = process.getuid?.() === 0;
  const { output } = results.find(({ job: { title } }) => title === "behind") ?? {};
  expect(output).toBe(`${isRoot ? Math.min(19, own + 5) : own}\n`);
});

test("what a job prints is kept, errors included", async () => {
  const [result] = await runAll([job("talk", "echo out; echo err >&2")], () => {});
  expect(result?.output).toBe("out\nerr\n");
});

slow.test("a job that never ends is ended, and has failed, with what it had printed", async () => {
  const endless = { ...job("endless", "echo begun; exec sleep 1000"), maxMs: 4_000 };
  const [result] = await runAll([endless], () => {});
  expect(result).toMatchObject({ failed: 1, output: "begun\n" });
});

test("what a job leaves behind is not waited for, and is ended unless it has left the group", async () => {
  const script = "setsid sleep 1000 & echo $!; sleep 1000 & echo $!";
  const [result] = await runAll([job("left", script)], () => {});
  expect(result).toMatchObject({ passed: 1, failed: 0 });
  const [outside = 0, inside = 0] = (result?.output ?? "").split("\n").map(Number);
  await until(() => !isAlive(inside));
  expect(isAlive(outside)).toBe(true);
  process.kill(outside, "SIGKILL");
});

/** A process that has ended and that nobody has asked about has no memory. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
