import { readFileSync } from "node:fs";
import { type Job, run } from "./job.ts";

/** Tests wait for conditions; this ends those that would wait for ever, even on a busy machine. */
const OPTIONS = ["--timeout", "180000"];
/** Twice what the longest file takes on a busy machine. It ends one that hangs outside its tests. */
const MAX_FILE_MS = 45 * 60_000;
/** They start the program, labs or a browser; each file has a process of its own. */
const PROGRAMS = /^\.\/tests\/(lab|binary|cli|dashboard)\//;
const LABS = /^\.\/tests\/lab\//;
const NAMESPACES = /^\.\/tests\/(lab|dashboard|binary)\/|\.lab\.test\.ts$/;
/** They need Debian packages in all that they do. */
const PACKAGED =
  /^\.\/tests\/(cli\/update|install\/units|package\/.*|release\/signed-tag|update\/(install|sign|update))\.test\.ts$/;

/** The labs that take longest, which start first. */
const FIRST = namesOf("lab", ["leaks/leaks", "gateway/two-cards", "remote/phone", "devices"]);

/** The labs whose devices, tunnels or services have something to do all the time. */
const HEAVY = new Set(
  namesOf("lab", [
    ...["leaks/leaks", "leaks/further", "leaks/fresh", "gateway/one-card", "gateway/two-cards", "pair"],
    ...["remote/phone", "remote/phones", "supervision"],
  ]),
);

/** It has both processors busy for a minute. */
const PROOF = "./tests/prove/proof.test.ts";

function namesOf(folder: string, names: readonly string[]): string[] {
  return names.map((name) => `./tests/${folder}/${name}.test.ts`);
}

/** What this machine does not permit, and whether Debian packages are missing. */
export interface Lacks {
  permission: "" | "root" | "namespaces";
  packages: boolean;
}

/** The suite leaves out the tests that are `long`, and `--long` runs them alone. */
export type Part = "suite" | "long";

const ENVIRONMENT: Record<Part, Record<string, string>> = {
  suite: { PORTCULLIS_TEST_LONG: "without" },
  // Where CI is set, Bun refuses `test.only`.
  long: { PORTCULLIS_TEST_LONG: "only", CI: "false" },
};

function allTests(): string[] {
  return [...new Bun.Glob("tests/**/*.test.ts").scanSync(".")].toSorted().map((file) => `./${file}`);
}

/** The files that have tests of this part. No process starts for one that has none. */
export function filesOf(part: Part): string[] {
  return allTests().filter((file) => partsOf(readFileSync(file, "utf8")).includes(part));
}

/**
 * Read in the file's text: it takes `test` or `describe` from `long`, or calls it for some tests, or does not know it. Of
 * `sampled` tests the suite plays some cases, and `--long` all.
 */
export function partsOf(text: string): Part[] {
  if (!/^import \{[^}]*\b(?:long|sampled)\b[^}]*\} from "[./]+\/fast\.ts";$/m.test(text)) return ["suite"];
  return /^const \{.*\} = long\(/m.test(text) ? ["long"] : ["suite", "long"];
}

/** Those that this machine cannot run. */
export function leftOut({ permission, packages }: Lacks): string[] {
  if (permission === "") return [];
  return allTests().filter((file) => NAMESPACES.test(file) || (packages && PACKAGED.test(file)));
}

/** Those with tests that need no root and no namespace, and start no program. */
export function quickFiles(): string[] {
  return filesOf("suite").filter((file) => !PROGRAMS.test(file) && !NAMESPACES.test(file));
}

/** Those of them that have a quick test: what skips all of a file's tests would load half of the program for nothing. */
export function fastFiles(): string[] {
  const isSlow = (text: string) => /^const \{.*\} = (?:slow|sampled);/m.test(text);
  return quickFiles().filter((file) => !isSlow(readFileSync(file, "utf8")));
}

/** Of the quick tests, which wait for half of their time. */
const FAST_PROCESSES = 6;
/** Beside those that are slow, which wait less, and beside labs. */
const QUICK_PROCESSES = 3;

/** What `--fast` runs. */
export function fastTests(): Job {
  return {
    ...sharing(fastFiles(), FAST_PROCESSES),
    environment: { PORTCULLIS_TEST_FAST: "1" },
  };
}

/**
 * The labs that take longest first, then labs and programs in turns, because labs mostly wait; the quick tests and the proof
 * take what these leave. Of `--long`, no test is quick: each file that needs no program takes a processor for minutes.
 */
export function testJobs(part: Part, files: readonly string[]): Job[] {
  const first = FIRST.filter((file) => files.includes(file));
  const labs = files.filter((file) => LABS.test(file) && !FIRST.includes(file));
  const isQuick = (file: string) => part === "suite" && !PROGRAMS.test(file);
  const programs = files.filter((file) => !LABS.test(file) && !isQuick(file));
  const quick = files.filter((file) => isQuick(file) && file !== PROOF);
  const turns = Math.max(labs.length, programs.length);
  const mixed = Array.from({ length: turns }, (_, at) => [labs[at], programs[at]])
    .flat()
    .filter((file) => file !== undefined);
  const jobs: Job[] = [
    ...(quick.length > 0 ? [{ ...sharing(quick, QUICK_PROCESSES), isBackground: true }] : []),
    ...[...first, ...mixed].map((file) => ({ ...testsOf([file]), isHeavy: HEAVY.has(file) })),
    ...(files.includes(PROOF) && isQuick(PROOF) ? [{ ...testsOf([PROOF]), isBackground: true }] : []),
  ];
  return jobs.map((job) => ({ ...job, environment: ENVIRONMENT[part], maxMs: MAX_FILE_MS }));
}

/** Files that share processes, because most of their time is the start of one. */
function sharing(files: readonly string[], processes: number): Job {
  return {
    ...testsOf(files, `--parallel=${processes}`, "--no-isolate"),
    title: `the quick tests of ${files.length} files`,
  };
}

/** The same tests, of these files only. */
export function only(files: readonly string[], job: Job): Job {
  return { ...job, ...testsOf(files) };
}

/** `bun test` with arguments of the caller's. */
export function chosenTests(args: readonly string[]): Job {
  return { ...testsOf(args), isShown: true };
}

function testsOf(words: readonly string[], ...options: readonly string[]): Job {
  const [first = "", ...others] = words;
  return {
    title: others.length === 0 ? first : `${first} and ${others.length} more`,
    argv: [process.execPath, "test", ...OPTIONS, ...options, ...words],
    isTest: true,
  };
}

/** How many tests of this part these files have. No test has the name that is asked for, so Bun only counts them. */
export async function countOf(part: Part, files: readonly string[]): Promise<number> {
  let sum = 0;
  for (const file of files) {
    const { output, skipped } = await run({
      ...testsOf([file], "-t", "^no test$"),
      environment: ENVIRONMENT[part],
    });
    const filtered = /\(skipping (\d+) tests\)/.exec(output)?.[1];
    sum += filtered === undefined ? skipped : Number(filtered);
  }
  return sum;
}
