import { readdirSync, readFileSync } from "node:fs";

/** What the service uses at a moment. */
export interface Sample {
  atMs: number;
  rssMib: number;
  descriptors: number;
}

/** How one figure of one process has changed. */
export interface Course {
  /** Medians of the second and of the last quarter. */
  second: number;
  last: number;
  /** Of a straight line from the second quarter on (least squares). */
  perHour: number;
}

/**
 * A leak grows with the work. The runtime's heap breathes, and each program that runs has three descriptors: on a busy
 * machine more run at a time.
 */
const GROWTH = { rssMib: 8, descriptors: 10 };
const HOUR_MS = 3_600_000;
/** In a shorter life the process is still warming up. */
const LONG_ENOUGH_MS = 20 * 60_000;

/** The memory and descriptors of one process, from time to time. */
export class Meter {
  samples: Sample[] = [];
  private pid = 0;

  /** Another process begins a new series. */
  sample(pid: number, atMs: number): void {
    if (pid !== this.pid) this.samples = [];
    this.pid = pid;
    const sample = sampleOf(pid, atMs);
    if (sample !== null) this.samples.push(sample);
  }
}

/** Null if the process is gone. */
export function sampleOf(pid: number, atMs: number): Sample | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const rssKib = Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]);
    return { atMs, rssMib: rssKib / 1024, descriptors: readdirSync(`/proc/${pid}/fd`).length };
  } catch {
    return null;
  }
}

/** Null without samples in each quarter. */
export function courseOf(samples: readonly Sample[], of: "rssMib" | "descriptors"): Course | null {
  const [begin, end] = [samples.at(0)?.atMs ?? 0, samples.at(-1)?.atMs ?? 0];
  const from = (quarter: number) => begin + ((end - begin) * quarter) / 4;
  const steady = samples.filter(({ atMs }) => atMs >= from(1));
  const second = medianOf(steady.filter(({ atMs }) => atMs < from(2)).map((sample) => sample[of]));
  const last = medianOf(steady.filter(({ atMs }) => atMs >= from(3)).map((sample) => sample[of]));
  if (second === null || last === null) return null;
  return { second, last, perHour: slopeOf(steady.map((sample) => [sample.atMs / HOUR_MS, sample[of]])) };
}

/** What has grown more than it may, a line each; empty for a life that was too short to judge. */
export function growth(samples: readonly Sample[]): string[] {
  if (!isLongEnough(samples)) return [];
  return (["rssMib", "descriptors"] as const).flatMap((of) => {
    const course = courseOf(samples, of);
    if (course === null) return [`${of}: there are not enough samples`];
    const { second, last } = course;
    return last <= second + GROWTH[of] ? [] : [`${of}: grew from ${second.toFixed(1)} to ${last.toFixed(1)}`];
  });
}

export function isLongEnough(samples: readonly Sample[]): boolean {
  return (samples.at(-1)?.atMs ?? 0) - (samples.at(0)?.atMs ?? 0) >= LONG_ENOUGH_MS;
}

function medianOf(values: readonly number[]): number | null {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? null;
}

function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (of: 0 | 1) => points.reduce((sum, point) => sum + point[of], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const square = points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
  return square === 0 ? 0 : points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0) / square;
}
