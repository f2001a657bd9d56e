import { UNKNOWN } from "./tree.ts";

/** Longer names are not typing errors, and would take long to compare. */
const MAX_LENGTH = 40;

/** The name that was probably meant, or null. Upper case and lower case are alike. */
export function likeliest(typed: string, names: Iterable<string>): string | null {
  const wanted = typed.toLowerCase();
  if (wanted.length > MAX_LENGTH) return null;
  // One wrong letter in four is accepted.
  let [best, least]: [string | null, number] = [null, Math.floor(wanted.length / 4) + 1];
  for (const name of names) {
    if (name === UNKNOWN || Math.abs(name.length - wanted.length) >= least) continue;
    const changes = changesBetween(wanted, name.toLowerCase());
    if (changes < least) [best, least] = [name, changes];
  }
  return best;
}

/** The Levenshtein distance: the number of letters that are added, left out or replaced. */
function changesBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1];
    for (let to = 1; to <= other.length; to++) {
      const replaced = (row[to - 1] ?? 0) + (letter === other[to - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
