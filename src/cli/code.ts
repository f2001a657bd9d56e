import { QUIET_MODULES, qrCodeOf } from "../shared/qr-code.ts";

/** White on black, whatever the terminal's colours are. */
const [BEGIN, END] = ["\x1b[40;97m", "\x1b[0m"];

/** A QR code of the text for a terminal: each character shows two modules, one above the other. */
export function codeOf(text: string): string {
  const { size, isDark } = qrCodeOf(text);
  const lines: string[] = [];
  for (let row = -QUIET_MODULES; row < size + QUIET_MODULES; row += 2) {
    const cells = Array.from({ length: size + 2 * QUIET_MODULES }, (_, at) => {
      const column = at - QUIET_MODULES;
      return GLYPHS[isDark(row, column) ? 0 : 1][isDark(row + 1, column) ? 0 : 1];
    });
    lines.push(`${BEGIN}${cells.join("")}${END}\n`);
  }
  return lines.join("");
}

/** By whether the upper and the lower module are light. */
const GLYPHS = [
  [" ", "▄"],
  ["▀", "█"],
] as const;
