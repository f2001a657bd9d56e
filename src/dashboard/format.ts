import { LOCALE, say, shown, WORDS } from "./language.ts";

/** Times, sizes and lists in the reader's locale. */

const TIME = new Intl.DateTimeFormat(LOCALE, { timeStyle: "medium" });
const CLOCK = new Intl.DateTimeFormat(LOCALE, { timeStyle: "short" });
const TIME_OF_DAY = new Intl.DateTimeFormat(LOCALE, { timeStyle: "short", timeZone: "UTC" });
const DATE_TIME = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "short" });
const FULL_DAY = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium" });
const DAY = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short" });
const LIST = new Intl.ListFormat(WORDS, { type: "conjunction" });
const NUMBER = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 1 });
const RELATIVE = new Intl.RelativeTimeFormat(WORDS, { numeric: "always" });

const BYTES = [say("B"), say("kB"), say("MB"), say("GB"), say("TB")];
const BIT_RATES = [say("bit/s"), say("kbit/s"), say("Mbit/s"), say("Gbit/s")];

const UNITS: readonly (readonly [unit: "day" | "hour" | "minute" | "second", seconds: number])[] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];

/** The time of day, if it is today; otherwise the date too. */
export function timeOf(at: number | string): string {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  return (isToday ? TIME : DATE_TIME).format(date);
}

/** "14:05", of seconds since 1970. */
export function clockOf(seconds: number): string {
  return CLOCK.format(new Date(seconds * 1_000));
}

/** "20:00" in the reader's locale. */
export function timeOfDay(time: string): string {
  return TIME_OF_DAY.format(new Date(`1970-01-01T${time}Z`));
}

/** "3 Mar", of seconds since 1970. */
export function dateOf(seconds: number): string {
  return DAY.format(new Date(seconds * 1_000));
}

/** "3 Mar 2027", of an ISO 8601 date. */
export function dayOf(date: string): string {
  return FULL_DAY.format(new Date(date));
}

/** "3 minutes ago". A clock that is behind makes it "now". */
export function agoOf(at: number | string, now: number): string {
  const seconds = Math.max(0, Math.round((now - new Date(at).getTime()) / 1_000));
  const [unit, size] = UNITS.find(([, each]) => seconds >= each) ?? ["second", 1];
  return seconds === 0 ? say("now") : RELATIVE.format(-Math.floor(seconds / size), unit);
}

/** "Laptop, TV, and Camera". */
export function listOf(words: readonly string[]): string {
  return LIST.format(words);
}

/** The first of many words, and how many others there are. */
export function someOf(words: readonly string[], max = 6): string {
  const rest = words.length - max;
  return listOf(
    rest > 1
      ? [...words.slice(0, max), say("{count, plural, one {# other} other {# others}}", { count: rest })]
      : words,
  );
}

/** An error without the field that it names, for places where one sees what it is about: "name: is taken". */
export function withoutField(error: string): string {
  const begin = beginOfItsWords(error);
  const [, fault] = /^[A-Za-z_]+: (.*)$/s.exec(error.slice(begin)) ?? [];
  return fault === undefined ? error : `${error.slice(0, begin)}${faultFrom(fault)}`;
}

/** Where the gateway's own words begin, which follow the page's after a line break if that is not English. */
export function beginOfItsWords(text: string): number {
  return shown === "en" ? 0 : text.indexOf("\n") + 1;
}

/** A sentence of what is wrong with a field: "must be host:port". */
export function faultFrom(fault: string): string {
  const isPredicate = /^(must|is|has|contains|begins|cannot)\b/.test(fault);
  return isPredicate ? `It ${fault}` : fault.charAt(0).toUpperCase() + fault.slice(1);
}

export function numberOf(value: number): string {
  return NUMBER.format(value);
}

/** "12.3 MB". */
export function bytesOf(bytes: number): string {
  return scaled(bytes, BYTES);
}

/** "12.3 Mbit/s", of bytes per second. */
export function rateOf(bytes: number): string {
  return bitRateOf(bitsOf(bytes));
}

export function bitRateOf(bits: number): string {
  return scaled(bits, BIT_RATES);
}

export function bitsOf(bytes: number): number {
  return bytes * 8;
}

function scaled(value: number, units: readonly string[]): string {
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(value, 1)) / 3));
  return `${NUMBER.format(value / 1_000 ** step)} ${units[step]}`;
}
