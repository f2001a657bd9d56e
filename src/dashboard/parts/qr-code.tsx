import { useMemo } from "preact/hooks";
import { QUIET_MODULES, qrCodeOf } from "../../shared/qr-code.ts";

/** The text as a QR code: black on white in both schemes, because not every app reads the opposite. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const { side, path } = useMemo(() => drawn(text), [text]);
  return (
    <svg class="qr-code" viewBox={`0 0 ${side} ${side}`} role="img" aria-label={label}>
      <path class="light" d={`M0 0h${side}v${side}h${-side}z`} />
      <path class="dark" d={path} />
    </svg>
  );
}

/** The strokes of the dark modules, and the side of the square, each module being 1. */
function drawn(text: string): { side: number; path: string } {
  const { size, isDark } = qrCodeOf(text);
  const all = Array.from({ length: size }, (_, at) => at);
  const modules = all.flatMap((row) =>
    all
      .filter((column) => isDark(row, column))
      .map((column) => `M${column + QUIET_MODULES} ${row + QUIET_MODULES}h1v1h-1z`),
  );
  return { side: size + 2 * QUIET_MODULES, path: modules.join("") };
}
