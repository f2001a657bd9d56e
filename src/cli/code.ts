import qrcode from "qrcode-generator";

/** Modules of light around the code, without which apps do not find it (ISO/IEC 18004, 9.1). */
const QUIET = 4;
/** White on black, whatever the terminal's colours are. */
const [BEGIN, END] = ["\x1b[40;97m", "\x1b[0m"];

/** A QR code of the text for a terminal: each character shows two modules, one above the other. */
export function codeOf(text: string): string {
  // The version that fits; a screen shows the code undamaged, so little redundancy is enough.
  const code = qrcode(0, "L");
  code.addData(text);
  code.make();
  const size = code.getModuleCount();
  const isLight = (row: number, column: number) => {
    const isInside = row >= 0 && column >= 0 && row < size && column < size;
    return !isInside || !code.isDark(row, column);
  };
  const lines: string[] = [];
  for (let row = -QUIET; row < size + QUIET; row += 2) {
    const cells = Array.from({ length: size + 2 * QUIET }, (_, at) => {
      const column = at - QUIET;
      return GLYPHS[isLight(row, column) ? 1 : 0][isLight(row + 1, column) ? 1 : 0];
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
