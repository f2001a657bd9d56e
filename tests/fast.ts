import { describe, test } from "bun:test";
import { SEED } from "./chance.ts";

/** `scripts/test --fast` sets it: no root, no build, and an answer within half a minute. */
const FAST = process.env.PORTCULLIS_TEST_FAST === "1";
/** `scripts/test` sets it to what this machine does not permit: `root`, and so namespaces either; or `namespaces`. */
const LACKS = process.env.PORTCULLIS_TEST_LACKS ?? "";
/** `scripts/test` sets it to `without`, and with `--long` to `only`. Without it, as for a file that is named, all tests run. */
const LONG = process.env.PORTCULLIS_TEST_LONG ?? "";

const unless = (skipped: boolean) => ({ test: test.skipIf(skipped), describe: describe.skipIf(skipped) });

/** For tests in a network namespace, or with the kernel's own tables: `needsNamespaces.test("…")`. */
export const needsNamespaces = unless(FAST || LACKS !== "");
/** For tests that need root and no namespace. */
export const needsRoot = unless(FAST || LACKS === "root");
/**
 * For tests that take seconds, because they try many cases or start the program, and for those that measure time. Also for
 * files that start a whole gateway with its HTTP interface for each test: one start takes as long as a hundred quick tests.
 */
export const slow = unless(FAST);

/**
 * For tests that run only with `scripts/test --long`, and for what reason. A whole file: `const { test } = long("…")`.
 * One test of a file: `long("…").test("…")`. `tests/rig/suite/tests.ts` reads in the file's text which of the two it is.
 */
export function long(_reason: string): { test: typeof test; describe: typeof describe } {
  if (FAST || LONG === "without") return { test: unheard(test), describe: unheard(describe) };
  // `--long` plays only these tests of a file; the others have run in the suite.
  return LONG === "only" ? { test: test.only, describe: describe.only } : { test, describe };
}

/** It takes tests and tells Bun nothing of them, so that they do not count as skipped. */
function unheard<T extends object>(what: T): T {
  const silent: T = new Proxy(what, { get: () => silent, apply: () => silent });
  return silent;
}

/**
 * For tests that try many cases: the suite plays a quarter of them, others each time; `--long` plays all, and so does a file
 * that is named. `sampled.test("…")` asks `runs` for how many, or `places` for which.
 */
// `--long` plays only these tests of a file, as with `long`.
export const sampled = LONG === "only" ? { test: test.only, describe: describe.only } : slow;
const SAMPLE = LONG === "without" ? 4 : 1;

/** How many runs of a property of so many. */
export function runs(all: number): number {
  return Math.ceil(all / SAMPLE);
}

/** The places of a fault, 1, 2, 3 and so on below `end`; those of a sample begin anywhere. */
export function* places(end = Infinity): Generator<number> {
  for (let place = 1 + (SEED % SAMPLE); place < end; place += SAMPLE) yield place;
}
