import { hasDatabase } from "../store/database.ts";
import { Store } from "../store/store.ts";
import type { Host } from "../system/host.ts";
import { CLOCK_EVERY_MS, SavedState } from "./saved-state.ts";

/** A saved time that is further ahead is not used: the clock may have been wrong, and would then stay wrong. */
const MAX_AHEAD_MS = 20 * 365 * 24 * 3_600_000;

/**
 * Moves the clock forward if it is behind the time that was saved last, as after a power cut on a machine without a
 * clock battery. Servers refuse a handshake from the past, and without a tunnel there is no time synchronisation.
 * Returns what was done, for people.
 */
export async function restoreClock(host: Pick<Host, "run" | "now">, stateDir: string): Promise<string> {
  const now = host.now();
  const saved = hasDatabase(stateDir) ? savedIn(stateDir, now) : null;
  if (saved === null) return "No time was saved yet; the clock stays as it is.";
  if (saved <= now) return "The clock is not behind the saved time; it stays as it is.";
  if (saved > now + MAX_AHEAD_MS)
    return `The saved time, ${textOf(saved)}, is too far ahead to be true; the clock stays as it is.`;
  // The last handshake may have come after the time was saved. The outage and the boot usually took as long.
  const time = saved + CLOCK_EVERY_MS;
  await host.run(["date", "-u", "-s", `@${Math.ceil(time / 1000)}`]);
  return `The clock was behind and is moved from ${textOf(now)} forward to ${textOf(time)}, after the time that was saved last.`;
}

function savedIn(stateDir: string, now: number): number | null {
  return new SavedState(Store.open(stateDir, now), () => {}).clock();
}

function textOf(ms: number): string {
  return new Date(ms).toISOString();
}
