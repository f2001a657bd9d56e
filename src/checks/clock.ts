import type { Host } from "../system/host.ts";
import { minuteOf } from "../tunnel/clock.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

/** This version is not older; a machine without a battery starts in 1970, or when its system was built. */
const OLDEST_MS = Date.UTC(2026, 0, 1);
/** Nobody runs a version for longer than that. */
const MAX_IN_USE_MS = 15 * 365 * 24 * 60 * 60_000;
const TIMEDATECTL_MS = 3_000;

/**
 * A server refuses a handshake whose timestamp is not newer than the last one from the same key (WireGuard white paper,
 * 5.1). `latest` is the latest time that is known to have passed, in milliseconds since 1970; null if none is.
 */
export async function clockFinding(host: Pick<Host, "now" | "run">, latest: number | null): Promise<Finding> {
  const now = host.now();
  const clock = minuteOf(now);
  if (now < OLDEST_MS) return fault("clock_unset", { clock });
  if (latest !== null && now < latest) return fault("clock_behind", { clock, latest: minuteOf(latest) });
  if (now > OLDEST_MS + MAX_IN_USE_MS) return fault("clock_ahead", { clock });
  return (await isUnsynchronised(host)) ? warning("clock_unconfirmed", { clock }) : ok("clock", { clock });
}

/** False if unknown: some systems have another program for the time. */
async function isUnsynchronised(host: Pick<Host, "run">): Promise<boolean> {
  const argv = ["timedatectl", "show", "--property=NTPSynchronized", "--value"];
  const answer = await host.run(argv, { timeoutMs: TIMEDATECTL_MS }).catch(() => "");
  return answer.trim() === "no";
}
