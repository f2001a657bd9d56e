import { alertIn } from "../base/alert.ts";
import { LEVELS, type Level } from "../base/alert-rows.ts";
import type { Translate } from "../base/language.ts";
import { redacted } from "../base/secrets.ts";
import { afterOf, levelOf, type NotifiedEvent, type Outage, type QualityChange } from "./event.ts";
import { notice } from "./notices.ts";
import type { Pending } from "./outbox.ts";

/** A message to a target. */
export interface Message {
  title: string;
  text: string;
  level: Level;
  /** ISO 8601. */
  at: string;
  events: readonly NotifiedEvent[];
}

/** Ntfy turns texts of more than 4,096 bytes into attachments. */
const MAX_BYTES = 3_500;
/** If an alert is reported later than this, its time is in the text. */
const LATE_MS = 120_000;

/** All pending events in one message; `now` is in milliseconds since 1970. */
export function messageOf(
  pending: readonly Pending[],
  { hostname, translate, headline = null }: MessageSender,
  now: number,
): Message {
  const title = notice(translate, "notice_title", { hostname });
  const events = pending.flatMap((each) => each.events);
  const lines = inOrder(pending).flatMap(({ item, isEffect }) =>
    linesOf(item, translate, now).map((line) => (isEffect ? `– ${line}` : line)),
  );
  const highest = Math.max(...events.map((event) => LEVELS.indexOf(levelOf(event))));
  return {
    title: headline === null ? title : `${title}: ${headline}`,
    text: shortened(redacted(lines.join("\n"))),
    level: LEVELS[highest] ?? "normal",
    at: new Date(now).toISOString(),
    events,
  };
}

/** The sender's name, and the language. */
export interface MessageSender {
  hostname: string;
  translate: Translate;
  /** The verdict on the home now, for the title. */
  headline?: string | null;
}

export function testMessage({ hostname, translate }: MessageSender, now: number): Message {
  const title = notice(translate, "notice_title", { hostname });
  const text = notice(translate, "notice_test", {});
  return { title, text, level: "normal", at: new Date(now).toISOString(), events: [] };
}

interface Placed {
  item: Pending;
  /** Whether it follows from what is before it. */
  isEffect: boolean;
}

/** What may follow from others of the message comes once, after the last of them. */
function inOrder(pending: readonly Pending[]): Placed[] {
  const causes = new Map(pending.map((item) => [kindOf(item), item]));
  const causeAmong = ({ events }: Pending) => {
    const cause = events.flatMap((event) => afterOf(event) ?? [])[0];
    return cause !== undefined && causes.has(cause) ? cause : null;
  };
  const effects = Map.groupBy(pending, causeAmong);
  const effectsOf = (item: Pending) =>
    causes.get(kindOf(item)) === item ? (effects.get(kindOf(item)) ?? []) : [];
  return (effects.get(null) ?? []).flatMap((item) => [
    { item, isEffect: false },
    ...effectsOf(item).map((effect) => ({ item: effect, isEffect: true })),
  ]);
}

/** An outage of any tunnel is one. */
function kindOf({ cause, events: [event] }: Pending): string {
  return event?.type === "security_alert" || event === undefined ? cause : event.type;
}

function linesOf({ events, count }: Pending, translate: Translate, now: number): string[] {
  const lines = events.map((event) => sentenceOf(event, translate, now));
  const between = count - events.length;
  if (between === 0) return lines;
  return [...lines.slice(0, -1), notice(translate, "notice_more", { count: between }), ...lines.slice(-1)];
}

function sentenceOf(event: NotifiedEvent, translate: Translate, now: number): string {
  if (event.type === "outage") return outageText(event.payload, translate, now);
  const { at } = event.payload;
  const message =
    event.type === "quality" ? qualityText(event.payload, translate) : alertIn(event.payload, translate);
  const when = Date.parse(at);
  return now - when > LATE_MS ? `${timeOf(when, translate, now)}: ${message}` : message;
}

function qualityText(
  { tunnel, reason, state, round_trip_ms, loss_percent }: QualityChange,
  translate: Translate,
): string {
  const figures = { tunnel, ms: round_trip_ms ?? "unknown", loss: loss_percent };
  const text = notice(translate, `quality_${state}`, figures);
  return reason === null ? text : `${text} ${reason}`;
}

function outageText(
  { tunnel, from, to, end, reason, unanswered }: Outage,
  translate: Translate,
  now: number,
): string {
  const begin = { tunnel, from: timeOf(Date.parse(from), translate, now) };
  const why = reason === null ? "" : ` ${notice(translate, "outage_reason", { reason })}`;
  if (to === null)
    return unanswered
      ? notice(translate, "outage_silent", { ...begin, why })
      : `${notice(translate, "outage_down", begin)}${why}`;
  const how = unanswered ? "silent" : "down";
  const until = timeOf(Date.parse(to), translate, now);
  const key = end === "disconnected" ? (`outage_${how}_until_off` as const) : (`outage_was_${how}` as const);
  return `${notice(translate, key, { ...begin, until })}${why}`;
}

/** The time in the machine's time zone: `3:10`, and with the date if that is not today. */
function timeOf(ms: number, translate: Translate, now: number): string {
  const [moment, today] = [new Date(ms), new Date(now)];
  const time = `${moment.getHours()}:${String(moment.getMinutes()).padStart(2, "0")}`;
  return moment.toDateString() === today.toDateString()
    ? time
    : notice(translate, "notice_date", { time, date: dateOf(moment) });
}

function dateOf(time: Date): string {
  const two = (number: number) => String(number).padStart(2, "0");
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
}

function shortened(text: string): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= MAX_BYTES) return text;
  // The rest of a character at the end is dropped.
  return `${new TextDecoder().decode(bytes.slice(0, MAX_BYTES)).replace(/\uFFFD+$/, "")}…`;
}
