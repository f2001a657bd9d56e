import type { Measurement } from "./measure.ts";

const HEAD = ["", "RTT", "portcullis", "wg-quick", "ratio", "goal", ""];

/** A table for people; numbers to the right, words to the left. */
export function tableOf(measurements: readonly Measurement[]): string {
  const rows = [HEAD, ...measurements.map(cellsOf)];
  return alignedRows(rows, [1, 2, 3, 4]);
}

/** Cells in columns; those in the columns `right` stand to the right. */
export function alignedRows(rows: readonly (readonly string[])[], right: readonly number[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const aligned = (cell: string, column: number) =>
    right.includes(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
  return rows.map((row) => `${row.map(aligned).join("  ").trimEnd()}\n`).join("");
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

export function quantity(value: number | null, unit: string): string {
  if (value === null) return "";
  const digits = Number.isInteger(value) || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits)}${unit === "" ? "" : ` ${unit}`}`;
}
