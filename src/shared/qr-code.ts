import qrcode from "qrcode-generator";

/** Modules of light around a code, without which apps do not find it (ISO/IEC 18004, 9.1). */
export const QUIET_MODULES = 4;

/** The modules of a QR code: a square of dark and light. */
export interface QrCode {
  /** On each side, without the light ones around. */
  size: number;
  isDark(row: number, column: number): boolean;
}

export function qrCodeOf(text: string): QrCode {
  // The version that fits; a screen shows the code undamaged, so little redundancy is enough.
  const code = qrcode(0, "L");
  code.addData(text);
  code.make();
  const size = code.getModuleCount();
  const isInside = (at: number) => at >= 0 && at < size;
  return { size, isDark: (row, column) => isInside(row) && isInside(column) && code.isDark(row, column) };
}
