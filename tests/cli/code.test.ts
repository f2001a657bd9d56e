import { expect, test } from "bun:test";
import qrcode from "qrcode-generator";
import { codeOf } from "../../src/cli/code.ts";

/** Of a file, which is the longest text that becomes a code. */
const TEXT = "PrivateKey = 0123456789\n".repeat(18);
const MODULES = { " ": [false, false], "▄": [false, true], "▀": [true, false], "█": [true, true] } as const;

const [BEGIN, END] = ["\x1b[40;97m", "\x1b[0m"];

/** Whether each module is light, by row. */
function shown(text: string): boolean[][] {
  const lines = text.trimEnd().split("\n");
  return lines.flatMap((line) => {
    expect([line.startsWith(BEGIN), line.endsWith(END)]).toEqual([true, true]);
    const cells = line.slice(BEGIN.length, -END.length);
    const pairs = [...cells].map((cell) => MODULES[cell as keyof typeof MODULES]);
    return [pairs.map(([upper]) => upper), pairs.map(([, lower]) => lower)];
  });
}

test("the code in the terminal has every module of the code, white on black, with a light edge of four", () => {
  const code = qrcode(0, "L");
  code.addData(TEXT);
  code.make();
  const size = code.getModuleCount();
  const rows = shown(codeOf(TEXT));
  expect(rows.length - size).toBeWithin(8, 10);
  for (const [row, modules] of rows.entries()) {
    expect(modules.length).toBe(size + 8);
    for (const [column, isLight] of modules.entries()) {
      const [y, x] = [row - 4, column - 4];
      const isInside = x >= 0 && y >= 0 && x < size && y < size;
      expect(isLight).toBe(!isInside || !code.isDark(y, x));
    }
  }
});
