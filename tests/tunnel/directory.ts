import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** In memory where there is such a place: a gateway opens a database, and waits for the disk each time it writes. */
const ROOT = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** A new, empty directory; the caller removes it. */
export function newDirectory(): string {
  return mkdtempSync(join(ROOT, "portcullis-tunnel-"));
}

/** A directory for the work; gone afterwards. */
export async function inDirectory<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = newDirectory();
  try {
    return await work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
