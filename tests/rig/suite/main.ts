// Runs the suite; scripts/test has prepared the machine. Arguments go to `bun test`; `--fast` runs the quick part only, and
// `--long` the tests that the suite leaves out.
import { sandboxRefusal } from "../../../src/sandbox/permission.ts";
import { LinuxHost } from "../../../src/system/linux.ts";
import { BUILD, binaryChecks, sourceChecks } from "./checks.ts";
import { endAll, type Job, type Result, run } from "./job.ts";
import { hasFoundLeak } from "./leak.ts";
import { failedFiles, repetitionOf, withRepeated } from "./repetition.ts";
import { runAll } from "./schedule.ts";
import {
  chosenTests,
  countOf,
  fastFiles,
  fastTests,
  filesOf,
  type Lacks,
  leftOut,
  type Part,
  quickFiles,
  testJobs,
} from "./tests.ts";

/** How many of the suite's files it says took longest. */
const MAX_SLOWEST = 10;
/** Of more than a hundred files. If more fails, it is no busy machine. */
const MAX_REPEATED = 8;

/** The name of a file about which nothing is left to say. */
const EMPTY_SECTION =
  /^tests\/\S+\.test\.ts:\n+(?=tests\/\S+\.test\.ts:\n|\d+ tests? failed:\n| *\d+ pass\n)/gm;

const args = process.argv.slice(2);
const isFast = args.join(" ") === "--fast";
const isLong = args.join(" ") === "--long";
const part: Part = isLong ? "long" : "suite";
const isChosen = args.length > 0 && !isFast && !isLong;
const began = performance.now();

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => {
    endAll();
    process.exit(130);
  });

/** Why something is left out, or an empty string. */
let why = process.env.PORTCULLIS_TEST_MISSING ? "Debian packages are missing" : "";
const lacks: Lacks = { permission: "", packages: why !== "" };
if (process.getuid?.() !== 0) {
  lacks.permission = "root";
  why = "this is not root; type: sudo ./scripts/test";
} else if (!isFast) {
  const refusal = await sandboxRefusal(new LinuxHost());
  if (refusal !== null) [lacks.permission, why] = ["namespaces", refusal];
}
process.env.PORTCULLIS_TEST_LACKS = lacks.permission;
process.env.PORTCULLIS_TEST_SEED ??= `${Date.now() % 1_000_000_000}`;

const omitted = isFast ? [] : leftOut(lacks).filter((file) => filesOf(part).includes(file));
const results = isFast ? await runAll([fastTests(), ...sourceChecks(true)], tell) : await everything();
report(results, isFast || isChosen ? 0 : await countOf(part, omitted));

async function everything(): Promise<Result[]> {
  const build = await run(BUILD);
  tell(build);
  // What an earlier build has left would be tested instead.
  if (build.failed > 0) return [build, ...(await runAll(sourceChecks(false), tell))];
  // It starts in a quarter of the time that the sources take.
  process.env.PORTCULLIS_TEST_PROGRAM = `${process.cwd()}/dist/portcullis`;
  if (isChosen) return [build, await run(chosenTests(args)), ...(await runAll(sourceChecks(false), tell))];
  const tests = testJobs(
    part,
    filesOf(part).filter((file) => !omitted.includes(file)),
  );
  if (isLong) return [build, ...(await again(await runAll(tests, tell)))];
  const checks = [...sourceChecks(false), ...binaryChecks()].map((job) => ({ ...job, isBackground: true }));
  // Of what runs in the background, the quick tests take longest.
  return [build, ...(await again(await runAll([...tests.slice(0, 1), ...checks, ...tests.slice(1)], tell)))];
}

/**
 * What fails beside others runs again by itself: a test is to find faults of the program, not a busy machine. What has
 * found a leak counts as it is, and so does everything if much fails.
 */
async function again(all: readonly Result[]): Promise<Result[]> {
  const failures = all.filter(({ failed, job }) => failed > 0 && job.isTest);
  const files = failures.reduce((sum, each) => sum + Math.max(1, failedFiles(each).size), 0);
  if (files > MAX_REPEATED) return [...all];
  const repeated = new Map<Job, Result>();
  for (const first of failures) {
    if (hasFoundLeak(first.output)) continue;
    console.log(withoutPassed(first.output));
    const job = repetitionOf(first);
    console.log(`Again by itself: ${job.title}`);
    const second = await run(job);
    tell(second);
    repeated.set(first.job, withRepeated(first, second));
  }
  return all.map((result) => repeated.get(result.job) ?? result);
}

/** When it ended, how, and how long it ran; of what failed the tests' names, because their output comes last. */
function tell({ job, failed, output, seconds }: Result): void {
  const now = Math.round((performance.now() - began) / 1000);
  const clock = `${Math.floor(now / 60)}:${String(now % 60).padStart(2, "0")}`;
  console.log(
    `${clock.padStart(5)}  ${failed > 0 ? "FAIL" : "ok  "}  ${job.title} (${Math.round(seconds)} s)`,
  );
  if (failed === 0 || job.isShown) return;
  for (const line of new Set(output.split("\n").filter((each) => each.startsWith("(fail)"))))
    console.log(`       ${line}`);
}

/** How long each took, longest first: of `--long` all, because one that has become short enough may join the suite. */
function tellTimes(all: readonly Result[]): void {
  const slowest = all.toSorted((one, other) => other.seconds - one.seconds);
  console.log(isLong ? "Longest first:" : `The ${MAX_SLOWEST} that took longest:`);
  for (const { job, seconds } of isLong ? slowest : slowest.slice(0, MAX_SLOWEST))
    console.log(`${seconds.toFixed(0).padStart(5)} s  ${job.title}`);
}

function report(all: readonly Result[], uncounted: number): void {
  const sum = (key: "passed" | "failed" | "skipped") => all.reduce((total, each) => total + each[key], 0);
  if (!isFast && !isChosen) tellTimes(all);
  // What failed comes last, where a reader looks first.
  for (const { job, failed, output } of all)
    if (failed > 0 && !job.isShown) console.log(withoutPassed(output));
  if (sum("failed") > 0)
    console.log(`To draw the same by chance again: PORTCULLIS_TEST_SEED=${process.env.PORTCULLIS_TEST_SEED}`);
  const skipped = sum("skipped") + uncounted;
  if (isFast)
    console.log(
      `Left out: ${skipped} tests that need root or are slow, ${quickFiles().length - fastFiles().length} files of such tests, and all of tests/cli, tests/binary, tests/dashboard and tests/lab.`,
    );
  const counted = `${sum("passed")} passed, ${sum("failed")} failed`;
  if (skipped > 0 && !isFast && why !== "")
    console.log(`Skipped is what needs network namespaces, root or Debian packages that are missing: ${why}`);
  console.log(skipped > 0 && !isFast ? `${counted}, ${skipped} skipped` : counted);
  process.exitCode = sum("failed") > 0 ? 1 : 0;
}

function withoutPassed(output: string): string {
  return output.replaceAll(/^\(pass\) .*\n/gm, "").replaceAll(EMPTY_SECTION, "");
}
