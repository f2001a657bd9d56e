import { LOCALE } from "./language.ts";

/** Times of the gateway's clock, which may be in another time zone than the browser. */

const DAY_MS = 86_400_000;

/** "20:00", as the interface has times of day. */
export function clockIn(zone: string, at: number): string {
  return formatIn(zone, "en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(at);
}

/** The day, counted from 1970, and its date in the reader's locale. */
export function dayIn(zone: string, at: number): { number: number; date: string } {
  // Dates of Sweden are those of ISO 8601.
  const iso = formatIn(zone, "sv-SE", { dateStyle: "short" }).format(at);
  const date = formatIn(zone, LOCALE, { day: "numeric", month: "long" }).format(at);
  return { number: Date.parse(iso) / DAY_MS, date };
}

function formatIn(
  timeZone: string,
  locale: string | undefined,
  options: Intl.DateTimeFormatOptions,
): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat(locale, { ...options, timeZone });
  } catch {
    // An old browser may not know the zone.
    return new Intl.DateTimeFormat(locale, options);
  }
}
