const REDRAW_AFTER_MS = 200;
const MEGABYTE = 1_000_000;

/** Shows the progress of a download on a terminal, and nothing elsewhere. */
export function progressTo(
  out: NodeJS.WriteStream,
  name: string,
): (bytes: number, total: number | null) => void {
  if (!out.isTTY) return () => {};
  let drawn = Number.NEGATIVE_INFINITY;
  return (bytes, total) => {
    const isLast = bytes === total;
    if (!isLast && performance.now() - drawn < REDRAW_AFTER_MS) return;
    drawn = performance.now();
    const of = total === null ? "" : ` of ${(total / MEGABYTE).toFixed(1)}`;
    out.write(`\r${name}: ${(bytes / MEGABYTE).toFixed(1)}${of} MB${isLast ? "\n" : ""}`);
  };
}
