import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { chmod, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";

const flush = promisify(fsync);

/** Replaces a file by one rename: a reader sees the old one or the new one, even after a power cut. */
export function placeText(path: string, text: string, mode: number): "placed" | "unchanged" {
  const same = existsSync(path) && modeOf(path) === mode && readFileSync(path, "utf8") === text;
  if (same) return "unchanged";
  return place(path, mode, (fresh) => writeFileSync(fresh, text, { mode }));
}

/** Like `placeText`, whatever was there. */
export function placeBytes(path: string, bytes: Uint8Array, mode: number): void {
  place(path, mode, (fresh) => writeFileSync(fresh, bytes, { mode }));
}

/** Like `placeBytes`; other threads wait for the disk. The former file stays until `ready` resolves. */
export async function placeBytesBehind(
  path: string,
  bytes: Uint8Array,
  mode: number,
  ready?: Promise<unknown>,
): Promise<void> {
  const fresh = freshOf(path);
  try {
    // Both have ended by the time that the next one writes the same file.
    for (const outcome of await Promise.allSettled([writtenBehind(fresh, bytes, mode), ready]))
      if (outcome.status === "rejected") throw outcome.reason;
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
  await syncBehind(dirname(path));
}

/** Like `placeText`; a program that runs from the old file keeps it. */
export function placeCopy(from: string, path: string, mode: number): "placed" | "unchanged" {
  const same = existsSync(path) && modeOf(path) === mode && readFileSync(from).equals(readFileSync(path));
  if (same) return "unchanged";
  return place(path, mode, (fresh) => copyFileSync(from, fresh));
}

/** The file, and the temporary one that an interruption or a power cut may have left: those that are there. */
export function leftOf(path: string): string[] {
  return [path, freshOf(path)].filter(existsSync);
}

/** Removes a file, or a folder with its contents, and its temporary file. */
export function remove(path: string): "removed" | "unchanged" {
  const there = leftOf(path);
  for (const one of there) rmSync(one, { recursive: true });
  // A file that is back after a power cut could count again.
  if (there.length > 0) sync(dirname(path));
  return there.length > 0 ? "removed" : "unchanged";
}

/** Removes a folder unless it contains other files. */
export function removeEmpty(path: string): "removed" | "unchanged" {
  if (!existsSync(path) || readdirSync(path).length > 0) return "unchanged";
  rmdirSync(path);
  return "removed";
}

function place(path: string, mode: number, write: (fresh: string) => void): "placed" {
  const folder = dirname(path);
  // A new folder is as private as the file that it is made for.
  makeFolder(folder, (mode & 0o077) === 0 ? 0o700 : 0o755);
  const fresh = freshOf(path);
  try {
    write(fresh);
    chmodSync(fresh, mode);
    sync(fresh);
    renameSync(fresh, path);
  } catch (error) {
    // Half a file would keep a full disk full.
    rmSync(fresh, { force: true });
    throw error;
  }
  sync(folder);
  return "placed";
}

/** Makes a folder and its parents with this mode, whatever the umask is. */
function makeFolder(folder: string, mode: number): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder), mode);
  mkdirSync(folder, { mode });
  chmodSync(folder, mode);
}

/** The path of the temporary file that replaces a file. */
function freshOf(path: string): string {
  return `${path}.new`;
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o7777;
}

async function writtenBehind(path: string, bytes: Uint8Array, mode: number): Promise<void> {
  await writeFile(path, bytes, { mode });
  // An interrupted one may have left the file, and the umask takes bits away.
  if (modeOf(path) !== mode) await chmod(path, mode);
  await syncBehind(path);
}

/** Only the flush waits for the disk: a file that was just written, or its folder, is opened from memory. */
async function syncBehind(path: string): Promise<void> {
  const file = openSync(path, "r");
  try {
    await flush(file);
  } finally {
    closeSync(file);
  }
}

function sync(path: string): void {
  const file = openSync(path, "r");
  fsyncSync(file);
  closeSync(file);
}
