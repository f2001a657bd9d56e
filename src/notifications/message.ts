import { redacted } from "../base/secrets.ts";
import { tunnelTitle } from "../shared/words.ts";
import { qualityWords } from "../tunnel/quality-verdict.ts";
import { LEVELS, type Level, levelOf, type NotifiedEvent, type Outage, type QualityChange } from "./event.ts";
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
export function messageOf(pending: readonly Pending[], title: string, now: number): Message {
  const events = pending.flatMap((each) => each.events);
  const lines = pending.flatMap((each) => linesOf(each, now));
  const highest = Math.max(...events.map((event) => LEVELS.indexOf(levelOf(event))));
  return {
    title,
    text: shortened(redacted(lines.join("\n"))),
    level: LEVELS[highest] ?? "normal",
    at: new Date(now).toISOString(),
    events,
  };
}

export function testMessage(title: string, now: number): Message {
  const text = "This is a test. Notifications from this gateway arrive here.";
  return { title, text, level: "normal", at: new Date(now).toISOString(), events: [] };
}

function linesOf({ events, count }: Pending, now: number): string[] {
  const lines = events.map((event) => sentenceOf(event, now));
  const between = count - events.length;
  if (between === 0) return lines;
  return [...lines.slice(0, -1), `(${between} more like this)`, ...lines.slice(-1)];
}

function sentenceOf(event: NotifiedEvent, now: number): string {
  if (event.type === "outage") return outageText(event.payload, now);
  const { at } = event.payload;
  const message = event.type === "quality" ? qualityText(event.payload) : event.payload.message;
  const when = Date.parse(at);
  return now - when > LATE_MS ? `${timeOf(when, now)}: ${message}` : message;
}

function qualityText({ tunnel, reason, ...quality }: QualityChange): string {
  const again = quality.state === "good" ? " again" : "";
  const text = `The ${tunnelTitle(tunnel)} is ${qualityWords(quality)}${again}.`;
  return reason === null ? text : `${text} ${reason}`;
}

function outageText({ tunnel, from, to, end, reason, unanswered }: Outage, now: number): string {
  const which = `The ${tunnelTitle(tunnel)}`;
  const begin = timeOf(Date.parse(from), now);
  const why = reason === null ? "" : ` Reason: ${reason}.`;
  if (to === null)
    return unanswered
      ? `${which} has carried nothing since ${begin}.${why} Try another server.`
      : `${which} has been down since ${begin}: nothing leaves by it.${why}`;
  const until = timeOf(Date.parse(to), now);
  const was = unanswered ? "carried nothing" : "was down";
  return end === "disconnected"
    ? `${which} ${was} from ${begin} until it was disconnected at ${until}.${why}`
    : `${which} ${was} from ${begin} to ${until}.${why}`;
}

/** The time in the machine's time zone: `3:10`, and with the date if that is not today. */
function timeOf(ms: number, now: number): string {
  const [time, today] = [new Date(ms), new Date(now)];
  const clock = `${time.getHours()}:${String(time.getMinutes()).padStart(2, "0")}`;
  return time.toDateString() === today.toDateString() ? clock : `${clock} on ${dateOf(time)}`;
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
