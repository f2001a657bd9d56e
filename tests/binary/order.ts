/** A request about one name, its start and end, and its result. */
export interface Observed {
  start: number;
  end: number;
  /** A change adds or removes the name; a look finds it or does not. */
  kind: "change" | "look";
  there: boolean;
}

/**
 * Whether the name exists at the end, if there is an order in which each request took effect at one moment between its
 * start and its end; null if there is no such order (linearizability: Herlihy and Wing, 1990).
 *
 * Looks that fit come first, because they change nothing. If none fits, a change must come next; all candidates have the
 * same effect, so the one that ended first goes first.
 */
export function outcomeOf(observed: readonly Observed[]): boolean | null {
  const open = observed.toSorted((one, other) => one.end - other.end);
  let there = false;
  while (open.length > 0) {
    // A request takes effect after those that had ended when it started.
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
