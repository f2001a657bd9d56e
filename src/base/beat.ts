/**
 * The time until a look that is due every `periodMs`, on a monotone clock. Periods that are multiples of each other end
 * together, so that the processor is woken once for all of them.
 */
export function untilBeat(periodMs: number, monotonic: number): number {
  const left = periodMs - (monotonic % periodMs);
  // A timer may be a little early.
  return left < EARLY_MS ? left + periodMs : left;
}

const EARLY_MS = 20;
