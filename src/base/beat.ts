/** What a wait needs of a clock. */
export interface Clock {
  monotonic(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/**
 * Waits for the next look that is due every `periodMs`. Periods that are multiples of each other end together, so that
 * the processor is woken once for all of them: those of an idle gateway are multiples of 1.5 s.
 */
export function nextBeat(clock: Clock, periodMs: number, signal?: AbortSignal): Promise<void> {
  return clock.sleep(untilBeat(periodMs, clock.monotonic()), signal);
}

/** The time until then, on a monotone clock. */
export function untilBeat(periodMs: number, monotonic: number): number {
  const left = periodMs - (monotonic % periodMs);
  // A timer may be a little early.
  return left < EARLY_MS ? left + periodMs : left;
}

const EARLY_MS = 20;
