import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countsIn, type Result } from "../rig/suite/job.ts";
import { failedFiles, repetitionOf, withRepeated } from "../rig/suite/repetition.ts";

const IMPORT = 'import { expect, test } from "bun:test";\n';
const TEXTS = {
  passes: 'test("passes", () => {});',
  fails: 'test("passes", () => {});\ntest("fails", () => expect(4).toBe(5));',
  dies: 'test("dies", () => process.kill(process.pid, "SIGKILL"));',
  breaks: 'import "./nothing.ts";',
};

/** What `bun test` says of these files, which share processes. */
function played(...names: (keyof typeof TEXTS)[]): Result {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-"));
  mkdirSync(join(folder, "tests"));
  const files = names.map((name) => `./tests/${name}.test.ts`);
  for (const name of names) writeFileSync(join(folder, `tests/${name}.test.ts`), `${IMPORT}${TEXTS[name]}\n`);
  const argv = [process.execPath, "test", "--parallel=2", "--no-isolate", ...files];
  const { stdout, stderr, exitCode } = Bun.spawnSync(argv, { cwd: folder });
  rmSync(folder, { recursive: true });
  const output = `${stdout}${stderr}`;
  return { job: { title: "some", argv, isTest: true }, output, seconds: 1, ...countsIn(output, exitCode) };
}

test("of files that share processes only those are played again that have failed, and both plays count as one", () => {
  const first = played("passes", "fails", "dies");
  expect(first).toMatchObject({ passed: 2, failed: 2 });
  expect([...failedFiles(first).keys()].toSorted()).toEqual(["tests/dies.test.ts", "tests/fails.test.ts"]);
  const job = repetitionOf(first);
  expect(job.argv).not.toContain("./tests/passes.test.ts");
  expect(job.argv).toContain("./tests/dies.test.ts");
  const second = { ...first, job, passed: 3, failed: 0, output: "" };
  expect(withRepeated(first, second)).toMatchObject({ job: first.job, passed: 4, failed: 0, skipped: 0 });
});

test("if a file cannot be read, which may have no line, all are played again", () => {
  const first = played("passes", "fails", "breaks");
  expect(first).toMatchObject({ passed: 2, failed: 2 });
  expect(repetitionOf(first)).toBe(first.job);
});

test("a job of which nobody knows what has failed is played again", () => {
  const first: Result = {
    ...{ job: { title: "some", argv: ["bun", "test"], isTest: true }, output: "no memory\n", seconds: 1 },
    ...{ passed: 0, failed: 1, skipped: 0 },
  };
  expect(repetitionOf(first)).toBe(first.job);
  const second = { ...first, passed: 3, failed: 0 };
  expect(withRepeated(first, second)).toBe(second);
});
