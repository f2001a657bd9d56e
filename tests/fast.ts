import { describe, test } from "bun:test";

/** `scripts/test --fast` sets it: no root, no build, and an answer within half a minute. */
const FAST = process.env.PORTCULLIS_TEST_FAST === "1";

const left = { test: test.skipIf(FAST), describe: describe.skipIf(FAST) };

/** For tests that need root, such as those in a network namespace: `needsRoot.test("…")`. */
export const needsRoot = left;
/** For tests that take seconds, because they try many cases or start the program, and for those that measure time. */
export const slow = left;
