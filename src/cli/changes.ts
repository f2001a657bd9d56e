import { type Change, changeText } from "../base/saved.ts";
import { printable } from "./text.ts";

/** The limit for one kind: enough to see whether it is the right backup; `--json` has all. */
const MAX_OF_A_KIND = 20;

/** The changes of a restore, one line each. */
export function changesText(changes: readonly Change[]): string {
  if (changes.length === 0) return "The restore changes nothing.\n";
  const kinds = [...Map.groupBy(changes, ({ what }) => what)];
  const lines = kinds.flatMap(([what, those]) => {
    const more = those.length - MAX_OF_A_KIND;
    return [...those.slice(0, MAX_OF_A_KIND).map(changeText), ...(more > 0 ? [`${what}: ${more} more`] : [])];
  });
  return `The restore changes the following; everything else stays as it is:\n${lines.map((line) => `  ${printable(line)}\n`).join("")}`;
}
