/** Between two looks; the interface answers ten requests a second. */
const PAUSE_MS = 150;
/** What takes a second where nothing else runs has come by then, however busy the machine is. */
const PATIENCE_MS = 60_000;

/** Waits for something to become true; throws where it does not within `ms`. Returns the milliseconds that it took. */
export async function until(met: () => boolean | Promise<boolean>, ms = PATIENCE_MS): Promise<number> {
  const start = performance.now();
  while (!(await met())) {
    if (performance.now() - start > ms) throw new Error(`it does not come to that within ${ms} ms`);
    await Bun.sleep(PAUSE_MS);
  }
  return performance.now() - start;
}
