/** Between two checks; the interface answers ten requests a second. */
const PAUSE_MS = 150;
/** Enough on a busy machine for what takes a second on an idle one. */
const PATIENCE_MS = 60_000;

/** Waits for something to become true; throws if it does not within `ms`. Returns the milliseconds that it took. */
export async function until(
  met: () => boolean | Promise<boolean>,
  ms = PATIENCE_MS,
  pauseMs = PAUSE_MS,
): Promise<number> {
  const start = performance.now();
  while (!(await met())) {
    if (performance.now() - start > ms) throw new Error(`still not so after ${ms} ms`);
    await Bun.sleep(pauseMs);
  }
  return performance.now() - start;
}
