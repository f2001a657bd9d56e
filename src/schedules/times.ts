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
const AROUND_DAYS = 8;

/** The last time of day at or before `now`. All moments are milliseconds since 1970. */
export function lastOf(daily: Daily, now: number, zone: string): number {
  return Math.max(...spansOf(daily, now, zone).flatMap(({ from }) => (from <= now ? from : [])));
}

/** The first one after `now`. */
export function nextOf(daily: Daily, now: number, zone: string): number {
  return Math.min(...spansOf(daily, now, zone).flatMap(({ from }) => (from > now ? from : [])));
}

/** The span that `now` is in; null if there is none. */
export function spanAt(span: Span, now: number, zone: string): Once | null {
  return spansOf(span, now, zone).findLast(({ from, to }) => from <= now && now < to) ?? null;
}

/** What was true of each on the day that was asked for last: looks at a schedule are seconds apart, and a zone is slow. */
const known = new WeakMap<Daily, { zone: string; today: Once; spans: Once[] }>();

/** Those around today, in order; without an end, each ends where it begins. */
function spansOf(daily: Daily | Span, now: number, zone: string): Once[] {
  const last = known.get(daily);
  if (last?.zone === zone && last.today.from <= now && now < last.today.to) return last.spans;
  const date = Temporal.Instant.fromEpochMilliseconds(Math.floor(now)).toZonedDateTimeISO(zone).toPlainDate();
  const spans = around(date)
    .filter(({ dayOfWeek }) => daily.days.some((day) => DAYS.indexOf(day) === dayOfWeek - 1))
    .map((each) => spanOn(each, daily, zone));
  const [from, to] = [momentOf(date, "00:00", zone), momentOf(date.add({ days: 1 }), "00:00", zone)];
  known.set(daily, { zone, today: { from, to }, spans });
  return spans;
}

function around(date: Temporal.PlainDate): Temporal.PlainDate[] {
  return Array.from({ length: 2 * AROUND_DAYS + 1 }, (_, at) => date.add({ days: at - AROUND_DAYS }));
}

function spanOn(date: Temporal.PlainDate, { at, ...daily }: Daily | Span, zone: string): Once {
  const until = "until" in daily ? daily.until : at;
  const isNextDay = "until" in daily && until <= at;
  return {
    from: momentOf(date, at, zone),
    to: momentOf(isNextDay ? date.add({ days: 1 }) : date, until, zone),
  };
}

/**
 * A time that the clock skips in spring is later by the skipped time. If a time comes twice in autumn, the first one
 * counts. This is "compatible", the default.
 */
function momentOf(date: Temporal.PlainDate, time: string, timeZone: string): number {
  return date.toZonedDateTime({ timeZone, plainTime: Temporal.PlainTime.from(time) }).epochMilliseconds;
}
