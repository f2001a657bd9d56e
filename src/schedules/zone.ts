import { SavedChoice } from "../base/saved.ts";
import { refused } from "./refusals.ts";

/** What holds until a person chooses a zone over the interface. */
const AS_CLOCK = "that of the gateway's clock";

/** The time zone in which the times of schedules are meant. */
export const TIME_ZONE = new SavedChoice(
  "time_zone",
  "time zone of schedules",
  AS_CLOCK,
  (text) => text === AS_CLOCK || isZone(text),
);

/** A chosen zone, or null for that of the machine's clock. */
export function zoneIn(text: string): string | null {
  // A backup may come from a newer version, which knows more zones.
  return isZone(text) ? text : null;
}

/** What is kept for a zone; throws if there is none of this name. */
export function zoneText(zone: string | null): string {
  if (zone === null) return AS_CLOCK;
  if (!isZone(zone)) throw refused("zone_unknown");
  return zone;
}

/** One of IANA's names; an offset such as +01:00 would be wrong for half of the year. */
function isZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/.test(name)) return false;
  try {
    return Temporal.Now.zonedDateTimeISO(name) !== null;
  } catch {
    return false;
  }
}
