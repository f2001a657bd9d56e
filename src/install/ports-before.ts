import { existsSync, readFileSync, statSync } from "node:fs";
import { type Static, Type } from "typebox";
import { checkerOf } from "../base/checker.ts";
import { objectOf } from "../base/object.ts";
import { placeText, remove } from "../system/files.ts";

/** Files by their paths; null for those that were not there. */
const Before = Type.Record(
  Type.String(),
  Type.Union([objectOf({ text: Type.String(), mode: Type.Integer() }), Type.Null()]),
);
export type Before = Static<typeof Before>;

const known = checkerOf(Before);
/** Settings may be secret. */
const SECRET = 0o600;
const MODE_BITS = 0o7777;

/**
 * Writes down what these files say, in one file that is whole or missing, also after a power cut. What a change that was cut
 * off has written down stays, because it is older.
 */
export function keepBefore(file: string, paths: readonly string[]): void {
  if (existsSync(file)) return;
  const before: Before = Object.fromEntries(
    paths.map((path) => [
      path,
      existsSync(path) ? { text: readFileSync(path, "utf8"), mode: statSync(path).mode & MODE_BITS } : null,
    ]),
  );
  placeText(file, JSON.stringify(before), SECRET);
}

/** Null if nothing was written down. */
export function beforeIn(file: string): Before | null {
  return existsSync(file) ? (known.read(readFileSync(file, "utf8")) ?? {}) : null;
}

/** Makes those files what they were. It may be cut off, and done again. */
export function putBack(before: Before, isMeant: (path: string) => boolean): void {
  for (const [path, was] of Object.entries(before).filter(([path]) => isMeant(path)))
    was === null ? remove(path) : placeText(path, was.text, was.mode);
}
