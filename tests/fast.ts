import { describe, test } from "bun:test";

/** `scripts/test --fast` sets it: no root, no build, and an answer within half a minute. */
const FAST = process.env.PORTCULLIS_TEST_FAST === "1";
/** `scripts/test` sets it to what this machine does not permit: `root`, and so namespaces either; or `namespaces`. */
const LACKS = process.env.PORTCULLIS_TEST_LACKS ?? "";

const unless = (skipped: boolean) => ({ test: test.skipIf(skipped), describe: describe.skipIf(skipped) });

/** For tests in a network namespace, or with the kernel's own tables: `needsNamespaces.test("…")`. */
export const needsNamespaces = unless(FAST || LACKS !== "");
/** For tests that need root and no namespace. */
export const needsRoot = unless(FAST || LACKS === "root");
/** For tests that take seconds, because they try many cases or start the program, and for those that measure time. */
export const slow = unless(FAST);
