import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { slow } from "../fast.ts";
import { Importers } from "../rig/mutants/importers.ts";
import { mutationsOf } from "../rig/mutants/mutations.ts";
import { Trials } from "../rig/mutants/trials.ts";

const MAX_TRIAL_MS = 120_000;

test("a mutant is the text with one mistake: each condition, bound, row and statement has its own", () => {
  const text = `import { x } from "./x.ts";
type Few = 1 | 2;
export function rows(n: number): Few[] {
  log(n);
  if (n < 2 && isOpen!) return [1 as Few];
  return n === 3 ? [] : rows(n - 1);
}`;
  expect(mutationsOf(text).map(({ line, before, after }) => `${line}: ${before} > ${after}`)).toEqual([
    "3:  >  return undefined as never;",
    "4: log(n); > ;",
    "5: n < 2 && isOpen! > !(n < 2 && isOpen!)",
    "5: && > ||",
    "5: < > <=",
    "5: 2 > (3)",
    "5: 2 > (1)",
    "5: 1 as Few > ...[]",
    "5: 1 > (2)",
    "5: 1 > (0)",
    "6: n === 3 > !(n === 3)",
    "6: === > !==",
    "6: 3 > (4)",
    "6: 3 > (2)",
    "6: - > +",
    "6: 1 > (2)",
    "6: 1 > (0)",
  ]);
  expect(mutationsOf(text)[1]?.text).toBe(text.replace("log(n);", ";"));
});

test("the tests of a file's own room come first, then the nearest of those that import it through others", () => {
  const [own, others] = ["tests/base/shares.test.ts", "tests/http/limits.test.ts"];
  const importers = new Importers();
  expect(importers.of("src/base/shares.ts", new Set([others, own, "tests/docs.test.ts"]))[0]).toBe(own);
  expect(importers.of("src/access/limiter.ts", new Set([own, others, "tests/docs.test.ts"]))).toEqual([
    others,
  ]);
});

slow.test("tests that load macros notice a mistake, and pass once it is taken back", async () => {
  using trials = new Trials();
  const outcome = (file: string, mistake: string) =>
    trials.outcome(file, readFileSync(file, "utf8") + mistake, ["tests/http/pipeline.test.ts"], MAX_TRIAL_MS);
  expect(await outcome("src/access/limiter.ts", "throw new Error();")).toBe("killed");
  expect(await outcome("src/access/tokens.ts", "")).toBe("survived");
});
