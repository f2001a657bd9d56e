import { DAYS, type Day } from "./schema.ts";

/** A time of day on some days of the week. */
export interface Daily {
  at: string;
  days: readonly Day[];
}

/** The time from `at` to `until`; the days are those on which it begins. */
export interface Span extends Daily {
  until: string;
}

/** From now on until then, in milliseconds since 1970. It does not come again. */
export interface Once {
  from: number;
  to: number;
}

/** Days before and after today. After a week each day has come again, and the clock's own changes take some hours. */
const [LAST, NEXT, NOW] = [
  [-8, 1],
  [-1, 8],
  [-2, 1],
] as const;
type Around = readonly [first: number, last: number];

/** The last time of day at or before `now`. All moments are milliseconds since 1970. */
export function lastOf(daily: Daily, now: number, zone: string): number {
  return Math.max(...momentsOf(daily, now, zone, LAST).filter((each) => each <= now));
}

/** The first one after `now`. */
export function nextOf(daily: Daily, now: number, zone: string): number {
  return Math.min(...momentsOf(daily, now, zone, NEXT).filter((each) => each > now));
}

/** The span that `now` is in; null if there is none. */
export function spanAt(span: Span, now: number, zone: string): Once | null {
  const spans = datesOf(span, now, zone, NOW).map((date) => ({
    from: momentOf(date, span.at, zone),
    to: momentOf(span.until > span.at ? date : date.add({ days: 1 }), span.until, zone),
  }));
  return spans.findLast(({ from, to }) => from <= now && now < to) ?? null;
}

function momentsOf(daily: Daily, now: number, zone: string, around: Around): number[] {
  return datesOf(daily, now, zone, around).map((date) => momentOf(date, daily.at, zone));
}

function datesOf({ days }: Daily, now: number, zone: string, [first, last]: Around): Temporal.PlainDate[] {
  const today = Temporal.Instant.fromEpochMilliseconds(Math.floor(now))
    .toZonedDateTimeISO(zone)
    .toPlainDate();
  const all = Array.from({ length: last - first + 1 }, (_, at) => today.add({ days: first + at }));
  return all.filter(({ dayOfWeek }) => days.some((day) => DAYS.indexOf(day) === dayOfWeek - 1));
}

/**
 * A time that the clock skips in spring is later by the skipped time. If a time comes twice in autumn, the first one
 * counts. This is "compatible", the default.
 */
function momentOf(date: Temporal.PlainDate, time: string, timeZone: string): number {
  return date.toZonedDateTime({ timeZone, plainTime: Temporal.PlainTime.from(time) }).epochMilliseconds;
}
