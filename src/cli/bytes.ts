const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** "12.3 MB", in powers of 1,000 as the page has it. */
export function bytesText(bytes: number): string {
  const step = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  return `${(bytes / 1_000 ** step).toFixed(step === 0 ? 0 : 1)} ${UNITS[step]}`;
}
