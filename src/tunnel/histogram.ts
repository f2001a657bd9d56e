/** How many observations were how large; a value, so that a reader never sees one that is half counted. */
export interface Histogram {
  /** Upper bounds, ascending; each belongs to its own bucket. */
  readonly bounds: readonly number[];
  /** For each bound, how many observations are at most as large: the buckets add up, as Prometheus wants them. */
  readonly counts: readonly number[];
  readonly sum: number;
  /** All observations, those above the last bound too. */
  readonly count: number;
}

/** A histogram that has seen nothing yet. */
export function histogramOf(bounds: readonly number[]): Histogram {
  return { bounds, counts: bounds.map(() => 0), sum: 0, count: 0 };
}

export function observed({ bounds, counts, sum, count }: Histogram, value: number): Histogram {
  return {
    bounds,
    counts: counts.map((each, at) => (value <= (bounds[at] ?? 0) ? each + 1 : each)),
    sum: sum + value,
    count: count + 1,
  };
}

/** From a handshake in the LAN of a test to the 10 s after which a connect gives up, in seconds. */
export const CONNECT_BOUNDS_SECONDS: readonly number[] = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 7.5, 10];
