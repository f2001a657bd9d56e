import type { Job, Result } from "./job.ts";
import { only } from "./tests.ts";

const HEADING = /^(tests\/\S+\.test\.ts):$/;
const SUMMARY = /^ *\d+ pass$|^\d+ tests? failed:$/;
const PASSED = /^\(pass\) /;
const SKIPPED = /^\(skip\) /;
const FAILED = /^\(fail\) |^✗ .*\(worker crashed/;

type Played = Pick<Result, "output" | "failed">;

/** The lines about each file that has failed; none if they do not tell of each failure: one that cannot be read has no line. */
export function failedFiles({ output, failed }: Played): Map<string, string[]> {
  const lines = output.split("\n");
  const end = lines.findIndex((line) => SUMMARY.test(line));
  const files = new Map<string, string[]>();
  let told: string[] = [];
  for (const line of lines.slice(0, end < 0 ? lines.length : end)) {
    const file = HEADING.exec(line)?.[1];
    if (file !== undefined) {
      told = files.get(file) ?? [];
      files.set(file, told);
    } else told.push(line);
  }
  const failures = [...files].filter(([, about]) => countOf(about, FAILED) > 0);
  const isAll =
    countOf(
      failures.flatMap(([, about]) => about),
      FAILED,
    ) === failed;
  return new Map(isAll ? failures : []);
}

function countOf(lines: readonly string[], what: RegExp): number {
  return lines.filter((line) => what.test(line)).length;
}

/** The job with only the files that have failed; all of it if nobody knows which. */
export function repetitionOf(first: Result): Job {
  const failed = [...failedFiles(first).keys()];
  return failed.length > 0
    ? only(
        failed.map((file) => `./${file}`),
        first.job,
      )
    : first.job;
}

/** The counts of a job some files of which were played again: these count as they are the second time. */
export function withRepeated(first: Result, second: Result): Result {
  const before = [...failedFiles(first).values()].flat();
  if (before.length === 0) return second;
  return {
    ...first,
    output: second.output,
    passed: first.passed - countOf(before, PASSED) + second.passed,
    failed: second.failed,
    skipped: first.skipped - countOf(before, SKIPPED) + second.skipped,
  };
}
