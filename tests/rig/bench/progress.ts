/** Tells who waits what is being measured, and for how long the bench has run. */
export function progress(what: string): void {
  process.stderr.write(`[${Math.round(performance.now() / 60_000)} min] Measuring: ${what}\n`);
}
