/** Something that was asked of one name, from when to when, and what the answer says of it. */
export interface Observed {
  start: number;
  end: number;
  /** A change makes the name be there, or not; a look finds it there, or not. */
  kind: "change" | "look";
  there: boolean;
}

/**
 * Whether the name is there at the end, if the answers fit some order in which each took effect at one moment
 * between its question and its answer; null where there is no such order (linearizability: Herlihy and Wing, 1990).
 *
 * Looks that fit are taken first, since they change nothing. Where none does, a change has to come; of those that
 * may, all have the same effect, so the one that ended first goes first.
 */
export function outcomeOf(observed: readonly Observed[]): boolean | null {
  const open = observed.toSorted((one, other) => one.end - other.end);
  let there = false;
  while (open.length > 0) {
    // Nothing takes effect before what had ended when it started.
    const earliest = open[0]?.end ?? 0;
    const fits = ({ start, kind, there: seen }: Observed) =>
      start <= earliest && (kind === "look" ? seen === there : seen !== there);
    const look = open.findIndex((each) => each.kind === "look" && fits(each));
    const next = look >= 0 ? look : open.findIndex(fits);
    const [taken] = next < 0 ? [] : open.splice(next, 1);
    if (taken === undefined) return null;
    there = taken.there;
  }
  return there;
}
