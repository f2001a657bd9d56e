import { expect, test } from "bun:test";
import type { Job } from "../../lab/suite/job.ts";
import { runAll } from "../../lab/suite/schedule.ts";

const job = (title: string, script: string): Job => ({ title, argv: ["sh", "-c", script], isTest: false });

test("every job runs once, and what fails does not end the others", async () => {
  const jobs = Array.from({ length: 10 }, (_, at) => job(`${at}`, `exit ${at === 2 ? 1 : 0}`));
  const told: string[] = [];
  const results = await runAll(jobs, (result) => told.push(result.job.title));
  expect(told.toSorted()).toEqual(jobs.map(({ title }) => title).toSorted());
  expect(results.filter(({ failed }) => failed > 0).map((result) => result.job.title)).toEqual(["2"]);
});

test("what a job prints is kept, errors included", async () => {
  const [result] = await runAll([job("talk", "echo out; echo err >&2")], () => {});
  expect(result?.output).toBe("out\nerr\n");
});
