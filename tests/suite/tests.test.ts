import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { slow } from "../fast.ts";
import { filesOf, type Part, partsOf } from "../rig/suite/tests.ts";

/** Three processes that read a hundred files each. */
const TIMEOUT_MS = 180_000;
const IMPORT = 'import { long, slow } from "../fast.ts";\n';

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-suite-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** How many tests each file gives Bun. None has the name that is asked for, so none runs. */
async function counted(files: readonly string[], long: string): Promise<Map<string, number>> {
  const report = join(folder, `${long}.xml`);
  const options = ["-t", "^no test$", "--reporter=junit", `--reporter-outfile=${report}`];
  const child = Bun.spawn([process.execPath, "test", ...options, ...files], {
    env: { ...process.env, PORTCULLIS_TEST_FAST: "", PORTCULLIS_TEST_LONG: long, CI: "false" },
    stdout: "ignore",
    stderr: "ignore",
  });
  await child.exited;
  // Bun writes no report of no tests.
  const text = existsSync(report) ? readFileSync(report, "utf8") : "";
  const rows = text.matchAll(/^ {2}<testsuite name="(\S+)" .*? tests="(\d+)"/gm);
  return new Map([...rows].map(([, file, tests]) => [`./${file}`, Number(tests)]));
}

/** Whether its tests may be in both parts. */
const isSampled = (file: string) => /^import \{[^}]*\bsampled\b/m.test(readFileSync(file, "utf8"));

test("each file is run by the suite, by --long, or by both", () => {
  const [suite, long] = [filesOf("suite"), filesOf("long")];
  const files = [...new Bun.Glob("tests/**/*.test.ts").scanSync(".")].map((file) => `./${file}`);
  expect([...new Set([...suite, ...long])].toSorted()).toEqual(files.toSorted());
  expect(suite).not.toContain("./tests/lab/pair.test.ts");
  expect(long).toContain("./tests/lab/pair.test.ts");
  expect(suite).toContain("./tests/lab/leaks/leaks.test.ts");
});

test.each<[string, string, Part[]]>([
  ["all of a file", `${IMPORT}const { test } = long("rounds");\n`, ["long"]],
  ["all groups of a file", `${IMPORT}const { describe } = long("rounds");\n`, ["long"]],
  ["some tests of a file", `${IMPORT}long("rounds").test("one", () => {});\n`, ["suite", "long"]],
  [
    "the other cases of a test",
    'import { sampled } from "../fast.ts";\nsampled.test("one", () => {});\n',
    ["suite", "long"],
  ],
  [
    "no test of a file",
    'const long = (text: string) => text;\nconst { length } = long("rounds");\n',
    ["suite"],
  ],
])("%s may be long", (_, text, parts) => {
  expect(partsOf(text)).toEqual(parts);
});

slow.test(
  "the suite and --long together run each test of such a file once, or all cases of it the second time, and neither starts a file for nothing",
  async () => {
    const [suite, long] = [filesOf("suite"), filesOf("long")];
    const [all, without, only] = await Promise.all(
      ["", "without", "only"].map((each) => counted(long, each)),
    );
    for (const file of long) {
      const [both, short = 0, rest = 0] = [all, without, only].map((counts) => counts?.get(file));
      expect({ file, both, isInSuite: suite.includes(file), hasLong: true }).toEqual({
        ...{ file, both: isSampled(file) ? Math.min(both ?? 0, short + rest) : short + rest },
        ...{ isInSuite: short > 0, hasLong: rest > 0 },
      });
    }
  },
  TIMEOUT_MS,
);
