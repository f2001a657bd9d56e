import { readFileSync } from "node:fs";
import type { Machine } from "./machine.ts";
import { type Measurement, median } from "./measure.ts";
import { alignedRows, quantity } from "./table.ts";

/** What `--json` prints. */
export interface Result {
  /** Before the first measurement and after the last. */
  machine: { before: Machine; after: Machine };
  effort: unknown;
  measurements: readonly Measurement[];
}

/** A smaller change may be chance, however alike the rounds are. */
const NOTICEABLE = 0.05;

const HEAD = ["", "RTT", "A", "B", "B/A", ""];

/** Two results for people: the gateway's own figures, their ratio, and whether the change is beyond noise. */
export function comparisonOf(a: Result, b: Result): string {
  const keys = [...new Set([...a.measurements, ...b.measurements].map(keyOf))];
  const find = ({ measurements }: Result, key: string) => measurements.find((each) => keyOf(each) === key);
  const rows = keys.map((key) => rowOf(find(a, key), find(b, key)));
  return `A: ${machineText(a)}\nB: ${machineText(b)}\n\n${alignedRows([HEAD, ...rows], [1, 2, 3, 4])}`;
}

function rowOf(a: Measurement | undefined, b: Measurement | undefined): string[] {
  const either = a ?? b;
  if (either === undefined) return [];
  const { name, rttMs, unit } = either;
  const [before, after] = [a?.portcullis ?? null, b?.portcullis ?? null];
  const ratio = before === null || after === null || before === 0 ? "" : (after / before).toFixed(2);
  return [
    name,
    rttMs === null ? "" : `${rttMs} ms`,
    quantity(before, unit),
    quantity(after, unit),
    ratio,
    a === undefined || b === undefined ? "only in one" : verdictOf(a, b),
  ];
}

/** A packet's cost as a share of a minimal gateway's in the same run: that of two runs can be compared. */
const DEARER = 0.03;

/** The packets whose share has grown by more than `DEARER`, beyond noise; one line for each. */
export function dearerPackets(a: Result, b: Result): string[] {
  return b.measurements.flatMap((after) => {
    const before = a.measurements.find((each) => keyOf(each) === keyOf(after));
    if (before === undefined || !after.name.startsWith("packet ")) return [];
    const [one, other] = [sharesOf(before), sharesOf(after)];
    const isNoise = middleOf(other).low <= middleOf(one).high;
    const [was, is] = [median(one), median(other)];
    if (isNoise || is <= (1 + DEARER) * was) return [];
    return [`${after.name}: ×${is.toFixed(2)} of a minimal gateway, was ×${was.toFixed(2)}`];
  });
}

/** The sides take turns, so each pair has met the same load. */
function sharesOf({ rounds: { portcullis, wgQuick } }: Measurement): number[] {
  return portcullis.map((ns, turn) => ns / (wgQuick[turn] ?? Number.NaN));
}

/** Empty if the middle halves of the rounds overlap, or if the medians hardly differ. */
export function verdictOf(a: Measurement, b: Measurement): "worse" | "better" | "" {
  if (a.portcullis === null || b.portcullis === null) return "";
  const [before, after] = [middleOf(a.rounds.portcullis), middleOf(b.rounds.portcullis)];
  const isNoise = before.low <= after.high && after.low <= before.high;
  const change = Math.abs(b.portcullis - a.portcullis);
  if (isNoise || change <= NOTICEABLE * Math.abs(a.portcullis)) return "";
  return b.portcullis > a.portcullis === isRate(a) ? "better" : "worse";
}

/** More of it is better. */
function isRate({ unit }: Measurement): boolean {
  return unit.endsWith("/s");
}

/** The quartiles; of few rounds, the nearest ones outside. */
function middleOf(rounds: readonly number[]): { low: number; high: number } {
  const sorted = rounds.toSorted((one, other) => one - other);
  const last = sorted.length - 1;
  const at = (index: number) => sorted[index] ?? Number.NaN;
  return { low: at(Math.floor(last / 4)), high: at(Math.ceil((3 * last) / 4)) };
}

function keyOf({ name, rttMs }: Measurement): string {
  return `${name} ${rttMs}`;
}

function machineText({ machine: { before, after } }: Result): string {
  const { program, cores, processor, kernel } = before;
  const loads = [before.load, after.load].map((load) => load.toFixed(2)).join(" to ");
  return `${program}, on ${cores} × ${processor}, Linux ${kernel}, load ${loads}`;
}

if (import.meta.main) {
  const [isForPackets, files] =
    process.argv[2] === "--packets" ? [true, process.argv.slice(3)] : [false, process.argv.slice(2)];
  const [a, b] = files.map((file): Result => JSON.parse(readFileSync(file, "utf8")));
  if (a === undefined || b === undefined || files.length > 2) {
    process.stderr.write("usage: scripts/bench compare [--packets] A.json B.json\n");
    process.exit(2);
  }
  if (!isForPackets) process.stdout.write(comparisonOf(a, b));
  const dearer = isForPackets ? dearerPackets(a, b) : [];
  for (const line of dearer) process.stdout.write(`${line}\n`);
  process.exitCode = dearer.length === 0 ? 0 : 1;
}
