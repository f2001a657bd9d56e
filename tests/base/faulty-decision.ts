import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Decision } from "../../src/base/decision.ts";

const SOURCE = join(import.meta.dir, "../../src/base/decision.ts");

/** The class with a fault in the place of some words, which stand in its file once. */
export async function faultyDecision(from: string, to: string): Promise<typeof Decision> {
  const text = readFileSync(SOURCE, "utf8");
  if (text.split(from).length !== 2) throw new Error(`not once in decision.ts: ${from}`);
  const directory = mkdtempSync(join(tmpdir(), "decision-"));
  const file = join(directory, "decision.ts");
  writeFileSync(file, text.replace(from, () => to).replaceAll('from "./', `from "${join(SOURCE, "..")}/`));
  try {
    return (await import(file)).Decision;
  } finally {
    rmSync(directory, { recursive: true });
  }
}
