import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

/** Coloured if standard output is a terminal and NO_COLOR is not set. */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

/** Names and messages come from others: nothing in them may move the cursor or reverse the text's direction. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, "\uFFFD");
}

/** One line a row, with aligned columns. */
export function table(rows: readonly (readonly string[])[], indent = ""): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, at) => {
      widths[at] = Math.max(widths[at] ?? 0, Bun.stringWidth(cell));
    });
  }
  const lineOf = (row: readonly string[]) => row.map((cell, at) => padded(cell, widths[at] ?? 0)).join("  ");
  return rows.map((row) => `${indent}${lineOf(row).trimEnd()}\n`).join("");
}

function padded(cell: string, width: number): string {
  return cell + " ".repeat(Math.max(0, width - Bun.stringWidth(cell)));
}
