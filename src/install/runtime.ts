/**
 * How often a function runs, each call counting 15 times, before the runtime makes machine code of it, and then faster
 * code (its second and third tier). By default that is a tenth and a thousandth of it. Then a service that does little
 * spends memory, its start and wake-ups on code that hardly ever runs. A relay is there after some seconds of full load.
 */
const [WARM, WARM_AGAIN, HOT] = ["5000", "1000", "1000000"];

/**
 * Of the timer by which the runtime (Bun) collects garbage after memory has changed, each second by default. That was a
 * part of all wake-ups of an idle service. What is allocated makes the collector run in any case.
 */
const COLLECTS_EVERY_MS = 60_000;

/**
 * Settings of the runtime, which reads them from the environment before it runs the program. Bun cannot carry them in an
 * executable, and to set them and start once more takes as long as a whole start (30 ms).
 */
export const RUNTIME = {
  /**
   * Makes it (JavaScriptCore) collect garbage as early as on a machine with this many bytes of memory. Under load that
   * keeps memory some megabytes lower, and one answer in a hundred takes some milliseconds longer.
   */
  BUN_JSC_forceRAMSize: `${64 * 1024 * 1024}`,
  BUN_JSC_thresholdForJITAfterWarmUp: WARM,
  BUN_JSC_thresholdForJITSoon: WARM_AGAIN,
  BUN_JSC_thresholdForOptimizeAfterWarmUp: HOT,
  BUN_JSC_thresholdForOptimizeAfterLongWarmUp: HOT,
  BUN_JSC_thresholdForOptimizeSoon: HOT,
  BUN_GC_TIMER_INTERVAL: `${COLLECTS_EVERY_MS}`,
  /**
   * Makes it (mimalloc) give free memory back at once. Otherwise a thread does that a moment later, and wakes up each time
   * the event loop goes to sleep: more often than everything else together.
   */
  MIMALLOC_PURGE_DELAY: "0",
} as const;

/** For starting the service without its unit. */
export const RUNTIME_HELP = `
Without its systemd unit, the service uses less memory with these environment variables:
${Object.entries(RUNTIME)
  .map(([name, value]) => `  ${name}=${value}`)
  .join("\n")}`;
