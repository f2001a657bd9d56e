import { join } from "node:path";

/** What tests start as `portcullis`: its sources, or the binary that `scripts/test` has just built of them. */
export const PROGRAM: readonly string[] = process.env.PORTCULLIS_TEST_PROGRAM
  ? [process.env.PORTCULLIS_TEST_PROGRAM]
  : [process.execPath, join(import.meta.dir, "../../../src/main.ts")];
