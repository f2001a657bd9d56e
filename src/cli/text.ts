import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

/** Coloured if standard output is a terminal and NO_COLOR is not set. */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

/** Names and messages come from others, so nothing in them may move the cursor or reverse the text's direction. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, "\uFFFD");
}

/** The same for a message that may have several lines. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/** One line for each row, with aligned columns. */
export function table(rows: readonly (readonly string[])[], indent = ""): string {
  return aligned(rows, widthsOf(rows), indent);
}

/** The same under a heading; at a terminal, the longest texts are cut so that a row takes one line. */
export function list(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [heading.map((word) => styled("dim", word)), ...rows];
  const widths = widthsOf(all);
  const most = process.stdout.isTTY ? process.stdout.columns || USUAL_COLUMNS : Number.POSITIVE_INFINITY;
  while (lengthOf(widths) > most) {
    const widest = Math.max(...widths);
    if (widest <= LEAST_WIDTH) break;
    widths[widths.indexOf(widest)] = widest - 1;
  }
  return aligned(all, widths);
}

/** The width of a terminal that does not report it. */
const USUAL_COLUMNS = 80;
/** A shorter text would be of no use. */
const LEAST_WIDTH = 8;
const GAP = "  ";

function widthsOf(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, at) => {
      widths[at] = Math.max(widths[at] ?? 0, Bun.stringWidth(cell));
    });
  }
  return widths;
}

function lengthOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
}

function aligned(rows: readonly (readonly string[])[], widths: readonly number[], indent = ""): string {
  const lineOf = (row: readonly string[]) => row.map((cell, at) => fitted(cell, widths[at] ?? 0)).join(GAP);
  return rows.map((row) => `${indent}${lineOf(row).trimEnd()}\n`).join("");
}

function fitted(cell: string, width: number): string {
  const shown = Bun.stringWidth(cell) > width ? `${Bun.sliceAnsi(cell, 0, width - 1)}…` : cell;
  return shown + " ".repeat(width - Bun.stringWidth(shown));
}
