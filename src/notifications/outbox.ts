import { type Static, Type } from "typebox";
import { objectOf } from "../base/object.ts";
import { causeOf, isOpen, levelOf, NotifiedEvent } from "./event.ts";

/** Events of one cause that were not sent yet: the first and the last of them. */
export const Pending = objectOf({
  cause: Type.String(),
  events: Type.Array(NotifiedEvent, { minItems: 1, maxItems: 2 }),
  /** The number of events. */
  count: Type.Integer({ minimum: 1 }),
});
export type Pending = Static<typeof Pending>;

/** The state of an outbox that survives restarts; times in milliseconds since 1970. */
export const Kept = objectOf({
  pending: Type.Array(Pending),
  /** When a message with a cause was last sent. */
  told: Type.Record(Type.String(), Type.Integer()),
  /** When the latest messages were sent. */
  sent: Type.Array(Type.Integer()),
});
export type Kept = Static<typeof Kept>;

/** Events with the same cause are repeated no earlier than this. */
const CAUSE_EVERY_MS = 15 * 60_000;
const HOUR_MS = 3_600_000;
/** The limit of messages in any hour. Later events are reported with the next message. */
const MAX_MESSAGES = 5;
/** The same if there is an urgent event. */
const MAX_IF_URGENT = 10;
/** Tunnels can be made, removed and made again under any name, and each is a cause. Only the latest are kept. */
const MAX_OUTAGES = 20;
/** Longer texts are cut, because an alert may quote another program. */
const MAX_TEXT = 500;

/**
 * The events that a target has not been sent yet. Its size is limited by one entry for each cause, and few outages,
 * however long the target is down. Times are those of the date, so that a service that restarts again and again does
 * not send more. A time in the future, from before the date was set back, does not count.
 */
export class Outbox {
  private pending: readonly Pending[];
  /** The events that are being sent. */
  private taken: readonly Pending[] = [];
  private readonly told: Map<string, number>;
  private sent: readonly number[];

  constructor(kept: Kept = { pending: [], told: {}, sent: [] }) {
    this.pending = kept.pending;
    this.told = new Map(Object.entries(kept.told));
    this.sent = kept.sent;
  }

  get isEmpty(): boolean {
    return this.pending.length === 0;
  }

  add(event: NotifiedEvent): void {
    this.pending = merged([...this.pending, { cause: causeOf(event), events: [cut(event)], count: 1 }]);
  }

  /** Takes the events that may be sent now, in the order in which they began; `confirm` or `putBack` has to follow. */
  take(now: number): readonly Pending[] {
    const due = this.pending.filter(({ cause }) => !isWithin(CAUSE_EVERY_MS, this.told.get(cause), now));
    const isUrgent = due.some(({ events }) => events.some((event) => levelOf(event) === "urgent"));
    const recent = this.sent.filter((at) => isWithin(HOUR_MS, at, now)).length;
    this.taken = recent < (isUrgent ? MAX_IF_URGENT : MAX_MESSAGES) ? due : [];
    this.pending = this.pending.filter((each) => !this.taken.includes(each));
    return this.taken;
  }

  /** The events that were taken have been sent. */
  confirm(now: number): void {
    this.sent = [...this.sent.filter((at) => isWithin(HOUR_MS, at, now)), now];
    for (const [cause, at] of this.told) if (!isWithin(CAUSE_EVERY_MS, at, now)) this.told.delete(cause);
    // The end of a condition is reported as soon as it comes.
    for (const { cause, events } of this.taken) if (!events.some(isOpen)) this.told.set(cause, now);
    this.taken = [];
  }

  putBack(): void {
    this.pending = this.kept.pending;
    this.taken = [];
  }

  get kept(): Kept {
    const pending = merged([...this.taken, ...this.pending]);
    return { pending, told: Object.fromEntries(this.told), sent: [...this.sent] };
  }
}

function merged(all: readonly Pending[]): Pending[] {
  const byCause = new Map<string, Pending>();
  for (const each of all) {
    const before = byCause.get(each.cause);
    byCause.set(each.cause, before === undefined ? each : together(before, each));
  }
  const united = [...byCause.values()];
  const outages = united.filter(({ events }) => events.every(({ type }) => type !== "security_alert"));
  const dropped = outages.slice(0, -MAX_OUTAGES);
  return united.filter((each) => !dropped.includes(each));
}

/** The first and the last event. An event that only says that a condition continues is replaced by a later one. */
function together(before: Pending, after: Pending): Pending {
  const kept = before.events.filter((event) => !isOpen(event));
  const events = [...kept, ...after.events];
  return {
    cause: after.cause,
    events: events.length > 2 ? [...events.slice(0, 1), ...events.slice(-1)] : events,
    count: before.count + after.count - (before.events.length - kept.length),
  };
}

function isWithin(ms: number, at: number | undefined, now: number): boolean {
  return at !== undefined && at <= now && now - at < ms;
}

function cut(event: NotifiedEvent): NotifiedEvent {
  // Half a character is left out.
  const short = (text: string) =>
    text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT).replace(/[\uD800-\uDBFF]$/, "")}…`;
  if (event.type === "security_alert")
    return { ...event, payload: { ...event.payload, message: short(event.payload.message) } };
  const { reason } = event.payload;
  const cutReason = reason && short(reason);
  return event.type === "outage"
    ? { ...event, payload: { ...event.payload, reason: cutReason } }
    : { ...event, payload: { ...event.payload, reason: cutReason } };
}
