import { appendFileSync, cpSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { Workshop } from "./made.ts";

const ROOT = join(import.meta.dir, "../..");

/** The program's sources with the workshop's key in them: the command that starts it. */
export function programTrusting(workshop: Workshop): string[] {
  return [process.execPath, join(sourcesTrusting(workshop, []), "src/main.ts")];
}

/** A folder with the program's sources, and other paths of this repository, with the workshop's key in them. */
export function sourcesTrusting({ folder, key }: Workshop, others: readonly string[]): string {
  const copy = join(folder, "program");
  for (const path of ["src", "scripts", "package.json", "tsconfig.json", "bunfig.toml", ...others])
    cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  for (const path of ["node_modules", ".tools"]) symlinkSync(join(ROOT, path), join(copy, path));
  appendFileSync(join(copy, "src/update/signers.txt"), key.signers);
  return copy;
}
