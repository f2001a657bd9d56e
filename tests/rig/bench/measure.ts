/** One line of the result: what each side took, and whether the aim is met. */
export interface Measurement {
  name: string;
  /** Round trip between home and VPN server; null where it plays no part. */
  rttMs: number | null;
  unit: string;
  /** Medians of the rounds. */
  portcullis: number | null;
  wgQuick: number | null;
  /** The first as a share of the second. */
  ratio: number | null;
  goal: string | null;
  met: boolean | null;
  /** Each round, in order. */
  rounds: { portcullis: readonly number[]; wgQuick: readonly number[] };
}

export interface Goal {
  text: string;
  met(portcullis: number, ratio: number): boolean;
}

interface Samples {
  name: string;
  rttMs?: number;
  unit: string;
  portcullis?: readonly number[];
  wgQuick?: readonly number[];
  aim?: Goal;
}

export function measurementOf({ name, rttMs, unit, aim, ...samples }: Samples): Measurement {
  const portcullis = samples.portcullis === undefined ? null : median(samples.portcullis);
  const wgQuick = samples.wgQuick === undefined ? null : median(samples.wgQuick);
  const ratio = portcullis === null || wgQuick === null || wgQuick === 0 ? null : portcullis / wgQuick;
  const met = aim === undefined || portcullis === null ? null : aim.met(portcullis, ratio ?? Number.NaN);
  const rounds = { portcullis: samples.portcullis ?? [], wgQuick: samples.wgQuick ?? [] };
  return {
    name,
    rttMs: rttMs ?? null,
    unit,
    portcullis,
    wgQuick,
    ratio,
    goal: aim?.text ?? null,
    met,
    rounds,
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
}

/** The value that `part` of a hundred values do not exceed. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * part) / 100) - 1)] ?? Number.NaN;
}

export function ratioAtMost(limit: number): Goal {
  return { text: `ratio ≤ ${limit}`, met: (_, ratio) => ratio <= limit };
}

export function ratioAtLeast(limit: number): Goal {
  return { text: `ratio ≥ ${limit}`, met: (_, ratio) => ratio >= limit };
}

export function atMost(limit: number): Goal {
  return { text: `≤ ${limit}`, met: (value) => value <= limit };
}
