/** Longest pause between two attempts. */
const MAX_MS = 60_000;
/** The pause after the first attempt; each further pause is twice the previous one. */
const FIRST_MS = 2_500;

/**
 * Milliseconds to wait after attempt number `attempt`, counted from 0; the longest pause if the uplink seems to be
 * down. `random` in [0, 1) spreads the attempts of many gateways, so that a server that comes back is not overrun.
 */
export function pauseAfter(attempt: number, random: number, online: boolean): number {
  const pause = online ? Math.min(FIRST_MS * 2 ** attempt, MAX_MS) : MAX_MS;
  return pause * (0.5 + random / 2);
}
