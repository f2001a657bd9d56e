import { readlinkSync } from "node:fs";

/** The machine's time zone now, as `timedatectl` sets it: by the runtime's own means it would be that of the start. */
export function timeZone(): string {
  try {
    const [, name = ""] = readlinkSync("/etc/localtime").split("zoneinfo/");
    // Throws if there is no such zone.
    return Temporal.Now.zonedDateTimeISO(name).timeZoneId;
  } catch {
    return Temporal.Now.timeZoneId();
  }
}
