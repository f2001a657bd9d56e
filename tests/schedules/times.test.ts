import { describe, expect, test } from "bun:test";
import { DAYS, type Day } from "../../src/schedules/schema.ts";
import { lastOf, nextOf, spanAt } from "../../src/schedules/times.ts";

const BERLIN = "Europe/Berlin";
const at = (text: string, zone = BERLIN) =>
  Temporal.PlainDateTime.from(text).toZonedDateTime(zone).epochMilliseconds;
const daily = (time: string, ...days: Day[]) => ({ at: time, days: days.length === 0 ? DAYS : days });
const span = (time: string, until: string, ...days: Day[]) => ({ ...daily(time, ...days), until });

describe("a time of day", () => {
  test.each([
    ["2026-11-22T03:59:59", "2026-11-21T04:00", "2026-11-22T04:00"],
    ["2026-11-22T04:00:00", "2026-11-22T04:00", "2026-11-23T04:00"],
    ["2026-11-22T04:00:01", "2026-11-22T04:00", "2026-11-23T04:00"],
  ])("at %s was last at %s and is next at %s", (now, last, next) => {
    expect(lastOf(daily("04:00"), at(now), BERLIN)).toBe(at(last));
    expect(nextOf(daily("04:00"), at(now), BERLIN)).toBe(at(next));
  });

  test("counts on its days only, those of another week too", () => {
    const sundays = daily("04:00", "sun");
    // A Sunday.
    expect(lastOf(sundays, at("2026-11-22T03:00"), BERLIN)).toBe(at("2026-11-15T04:00"));
    expect(nextOf(sundays, at("2026-11-22T05:00"), BERLIN)).toBe(at("2026-11-29T04:00"));
  });

  test("that the clock skips in spring comes as much later as it skips, once", () => {
    const [skipped, before] = [daily("02:30"), at("2026-03-29T01:59")];
    expect(nextOf(skipped, before, BERLIN)).toBe(at("2026-03-29T03:30"));
    expect(nextOf(skipped, at("2026-03-29T03:30"), BERLIN)).toBe(at("2026-03-30T02:30"));
  });

  test("that comes twice in autumn counts once, the first time", () => {
    const first = Temporal.Instant.from("2026-10-25T02:30+02:00").epochMilliseconds;
    expect(nextOf(daily("02:30"), at("2026-10-25T00:00"), BERLIN)).toBe(first);
    expect(nextOf(daily("02:30"), first, BERLIN)).toBe(at("2026-10-26T02:30"));
    expect(lastOf(daily("02:30"), first + 3_600_000, BERLIN)).toBe(first);
  });

  test("is that of the zone", () => {
    expect(nextOf(daily("04:00"), at("2026-11-22T00:00", "UTC"), "Asia/Kathmandu")).toBe(
      Temporal.Instant.from("2026-11-22T22:15Z").epochMilliseconds,
    );
  });

  test("comes in a zone that has left out a whole day", () => {
    // Samoa had no 30 December 2011.
    const zone = "Pacific/Apia";
    const before = Temporal.Instant.from("2011-12-29T20:00-10:00").epochMilliseconds;
    expect(nextOf(daily("04:00"), before, zone)).toBe(at("2011-12-31T04:00", zone));
  });
});

describe("a span", () => {
  const night = span("21:00", "07:00", "sun", "mon", "tue", "wed", "thu");
  test.each([
    ["2026-11-22T20:59:59", null],
    ["2026-11-22T21:00", ["2026-11-22T21:00", "2026-11-23T07:00"]],
    ["2026-11-23T00:00", ["2026-11-22T21:00", "2026-11-23T07:00"]],
    ["2026-11-23T06:59:59", ["2026-11-22T21:00", "2026-11-23T07:00"]],
    ["2026-11-23T07:00", null],
    // Friday's and Saturday's nights are free.
    ["2026-11-27T06:00", ["2026-11-26T21:00", "2026-11-27T07:00"]],
    ["2026-11-27T23:00", null],
    ["2026-11-28T06:00", null],
  ])("over midnight on school days is at %s: %p", (now, expected) => {
    const [from = "", to = ""] = expected ?? [];
    expect(spanAt(night, at(now), BERLIN)).toEqual(expected && { from: at(from), to: at(to) });
  });

  test("by day ends on its day", () => {
    const noon = span("12:00", "13:30");
    expect(spanAt(noon, at("2026-11-22T13:29"), BERLIN)).toEqual({
      from: at("2026-11-22T12:00"),
      to: at("2026-11-22T13:30"),
    });
    expect(spanAt(noon, at("2026-11-22T13:30"), BERLIN)).toBeNull();
  });

  test("lasts an hour less or more when the clock changes, and is empty if it is skipped", () => {
    const hoursOf = (now: string) => {
      const { from = 0, to = 0 } = spanAt(night, at(now), BERLIN) ?? {};
      return (to - from) / 3_600_000;
    };
    expect(hoursOf("2026-03-29T23:00")).toBe(10);
    const saturday = span("21:00", "07:00", "sat");
    const spring = spanAt(saturday, at("2026-03-29T06:00"), BERLIN);
    const autumn = spanAt(saturday, at("2026-10-25T06:00"), BERLIN);
    expect([spring, autumn].map((each) => ((each?.to ?? 0) - (each?.from ?? 0)) / 3_600_000)).toEqual([
      9, 11,
    ]);
    const skipped = span("02:30", "03:00");
    const minutes = Array.from({ length: 24 * 60 }, (_, minute) => at("2026-03-29T00:00") + minute * 60_000);
    expect(minutes.map((now) => spanAt(skipped, now, BERLIN)).filter((each) => each !== null)).toEqual([]);
  });
});
