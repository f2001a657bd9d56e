import { readlinkSync, statfsSync } from "node:fs";
import { totalmem } from "node:os";

/** Bytes that root may still write in a folder's file system; null if that is not known. */
export function freeBytes(folder: string): number | null {
  try {
    const { bfree, bsize } = statfsSync(folder);
    return bfree * bsize;
  } catch {
    return null;
  }
}

/** Whether the file that this process runs from has been replaced or removed since it started (proc(5), exe). */
export function isProgramReplaced(): boolean {
  try {
    return readlinkSync("/proc/self/exe").endsWith(" (deleted)");
  } catch {
    return false;
  }
}

/** The machine's memory. */
export function memoryBytes(): number {
  return totalmem();
}
