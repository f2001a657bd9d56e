import { join } from "node:path";
import type { ErrorRow } from "../../src/base/refusals.ts";

export const SRC = join(import.meta.dir, "../../src");

/** The rows of errors of all rooms, and names that have two sentences. */
export const ERROR_ROWS: Record<string, ErrorRow> = {};
export const CLASHING: string[] = [];
for (const file of [...new Bun.Glob("**/refusals.ts").scanSync(SRC), "base/unsaved.ts"].sort()) {
  const { refused } = await import(join(SRC, file));
  for (const [what, row] of Object.entries<ErrorRow>(refused?.rows ?? {})) {
    if ((ERROR_ROWS[what]?.text ?? row.text) !== row.text) CLASHING.push(`${file}: ${what}`);
    ERROR_ROWS[what] = row;
  }
}
