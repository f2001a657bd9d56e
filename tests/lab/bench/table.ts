import type { Measurement } from "./measure.ts";

const HEAD = ["", "RTT", "portcullis", "wg-quick", "ratio", "goal", ""];

/** A table for people; numbers to the right, words to the left. */
export function tableOf(measurements: readonly Measurement[]): string {
  const rows = [HEAD, ...measurements.map(cellsOf)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row.map((cell, column) => aligned(cell, column, widths[column] ?? 0)).join("  "),
  );
  return lines.map((line) => `${line.trimEnd()}\n`).join("");
}

function cellsOf({ name, rttMs, unit, portcullis, wgQuick, ratio, goal, met }: Measurement): string[] {
  return [
    name,
    rttMs === null ? "" : `${rttMs} ms`,
    quantity(portcullis, unit),
    quantity(wgQuick, unit),
    ratio === null ? "" : ratio.toFixed(2),
    goal ?? "",
    met === null ? "" : met ? "met" : "NOT MET",
  ];
}

function aligned(cell: string, column: number, width: number): string {
  return column >= 1 && column <= 4 ? cell.padStart(width) : cell.padEnd(width);
}

function quantity(value: number | null, unit: string): string {
  if (value === null) return "";
  const digits = Number.isInteger(value) || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits)}${unit === "" ? "" : ` ${unit}`}`;
}
