import type { Settings } from "../base/settings.ts";
import type { HttpsStatus } from "../certificates/schema.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** What renews certificates of public authorities does so a month before. */
const SOON_MS = 14 * DAY_MS;

/** Whether HTTPS works, and the certificate's fingerprint; null if it is off. `now` is in milliseconds since 1970. */
export function httpsFinding(
  { port, certificate, error }: HttpsStatus,
  { httpsCert }: Pick<Settings, "httpsCert">,
  now: number,
): Finding | null {
  if (port === null) return null;
  if (error !== null)
    return certificate === null
      ? fault("https_failed", { reason: error })
      : warning("https_former", { reason: error });
  if (certificate === null) return warning("https_starting", {});
  const { fingerprint, not_after } = certificate;
  const day = not_after.slice(0, "2026-01-02".length);
  const left = Date.parse(not_after) - now;
  // The gateway renews its own in time.
  if (httpsCert === null || left > SOON_MS) return ok("https", { port, day, fingerprint });
  return left <= 0
    ? fault("https_expired", { file: httpsCert, day })
    : warning("https_expiring", { file: httpsCert, day });
}
