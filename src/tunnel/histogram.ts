/** A distribution of observations. Immutable, so that a reader never sees a partial update. */
export interface Histogram {
  /** Upper bounds, ascending; each belongs to its own bucket. */
  readonly bounds: readonly number[];
  /** For each bound, the number of observations at most as large: cumulative, as Prometheus expects. */
  readonly counts: readonly number[];
  readonly sum: number;
  /** All observations, including those above the last bound. */
  readonly count: number;
}

/** An empty histogram. */
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

/** In seconds, from a handshake on a test LAN to the 10 s after which a connect fails. */
export const CONNECT_BOUNDS_SECONDS: readonly number[] = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 7.5, 10];
