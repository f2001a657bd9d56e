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
      ? fault(`does not work: ${error}`, REPAIR)
      : warning(`the former certificate is used: ${error}`, REPAIR);
  if (certificate === null) return warning("it is just starting", "Check again in a moment.");
  const { fingerprint, not_after } = certificate;
  const day = not_after.slice(0, "2026-01-02".length);
  const found = `port ${port}; the certificate is valid until ${day}, and its SHA-256 fingerprint is ${fingerprint}`;
  const left = Date.parse(not_after) - now;
  // The gateway renews its own in time.
  if (httpsCert === null || left > SOON_MS) return ok(found);
  const renew = `Renew it: the gateway reads ${httpsCert} again each minute.`;
  if (left <= 0)
    return fault(`the certificate in ${httpsCert} has expired on ${day}: browsers refuse it`, renew);
  return warning(`the certificate in ${httpsCert} expires on ${day}`, renew);
}

const REPAIR = "Repair that; the gateway tries again by itself, and needs no restart.";
