/** Longest pause between two attempts. */
const LONGEST_MS = 60_000;
/** The pause after the first attempt; each is twice the one before. */
const FIRST_MS = 2_500;

/**
 * Milliseconds to wait after the attempt with that number, from 0; the longest pause where the uplink seems to be
 * down. `random` in [0, 1) spreads the homes of one provider over time, so that a server that comes back is not
 * overrun.
 */
export function pauseAfter(attempt: number, random: number, online: boolean): number {
  const pause = online ? Math.min(FIRST_MS * 2 ** attempt, LONGEST_MS) : LONGEST_MS;
  return pause * (0.5 + random / 2);
}
