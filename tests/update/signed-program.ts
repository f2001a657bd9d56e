import { appendFileSync, cpSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { Workshop } from "./made.ts";

const ROOT = join(import.meta.dir, "../..");

/** The program's sources with the workshop's key in them: the command that starts it. */
export function programTrusting({ folder, key }: Workshop): string[] {
  const copy = join(folder, "program");
  for (const path of ["src", "package.json", "tsconfig.json"])
    cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  appendFileSync(join(copy, "src/update/signers.txt"), key.signers);
  return [process.execPath, join(copy, "src/main.ts")];
}
