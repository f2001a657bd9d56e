import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
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
import { dirname } from "node:path";

/** Puts a file in place by one rename: whoever reads it, also after a power cut, sees the old one or the new one. */
export function placeText(path: string, text: string, mode: number): "placed" | "unchanged" {
  const same = existsSync(path) && modeOf(path) === mode && readFileSync(path, "utf8") === text;
  if (same) return "unchanged";
  return place(path, mode, (fresh) => writeFileSync(fresh, text, { mode }));
}

/** As `placeText`; a program that runs from the old file goes on with it. */
export function placeCopy(from: string, path: string, mode: number): "placed" | "unchanged" {
  const same = existsSync(path) && modeOf(path) === mode && readFileSync(from).equals(readFileSync(path));
  if (same) return "unchanged";
  return place(path, mode, (fresh) => copyFileSync(from, fresh));
}

/** Removes a file, or a folder with all that is in it, and what a power cut has left of placing it. */
export function remove(path: string): "removed" | "unchanged" {
  const there = [path, freshOf(path)].filter(existsSync);
  for (const one of there) rmSync(one, { recursive: true });
  return there.length > 0 ? "removed" : "unchanged";
}

/** Removes a folder unless others have files in there. */
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
    // A disk that is full stays so with half a file on it.
    rmSync(fresh, { force: true });
    throw error;
  }
  sync(folder);
  return "placed";
}

/** With those above it; whatever the umask of the shell is. */
function makeFolder(folder: string, mode: number): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder), mode);
  mkdirSync(folder, { mode });
  chmodSync(folder, mode);
}

/** Where a file is made before it takes its place. */
function freshOf(path: string): string {
  return `${path}.new`;
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o7777;
}

function sync(path: string): void {
  const file = openSync(path, "r");
  fsyncSync(file);
  closeSync(file);
}
