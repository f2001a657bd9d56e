import { type Static, Type } from "typebox";
import { SecurityAlert } from "../base/alert.ts";
import { ALERTS, type Level } from "../base/alert-rows.ts";
import { objectOf } from "../base/object.ts";
import { Quality } from "../tunnel/quality-facts.ts";

/** A tunnel that should be up carried nothing for a while. */
export const Outage = objectOf({
  tunnel: Type.String(),
  /** ISO 8601. */
  from: Type.String(),
  /** ISO 8601; null while the tunnel is down. */
  to: Type.Union([Type.String(), Type.Null()]),
  /** What ended it; null while the tunnel is down. */
  end: Type.Union([Type.Literal("connected"), Type.Literal("disconnected"), Type.Null()]),
  reason: Type.Union([Type.String(), Type.Null()]),
  /** True if the tunnel is connected and carries nothing; missing if it is down. */
  unanswered: Type.Optional(Type.Boolean()),
});
export type Outage = Static<typeof Outage>;

/** A tunnel has become slow or lossy, or is good again. */
export const QualityChange = objectOf({
  tunnel: Type.String(),
  ...Quality.properties,
  /** Sentences that say where the reason is; null if it is good again. */
  reason: Type.Union([Type.String(), Type.Null()]),
  /** ISO 8601. */
  at: Type.String(),
});
export type QualityChange = Static<typeof QualityChange>;

/** An event that is reported to people. */
export const NotifiedEvent = Type.Union([
  objectOf({ type: Type.Literal("security_alert"), payload: SecurityAlert }),
  objectOf({ type: Type.Literal("outage"), payload: Outage }),
  objectOf({ type: Type.Literal("quality"), payload: QualityChange }),
]);
export type NotifiedEvent = Static<typeof NotifiedEvent>;

/** Events of the same cause are reported together. */
export function causeOf(event: NotifiedEvent): string {
  return event.type === "security_alert"
    ? ALERTS[event.payload.code].cause
    : `${event.type} ${event.payload.tunnel}`;
}

/** The cause that it may follow from. */
export function afterOf(event: NotifiedEvent): string | null {
  if (event.type !== "security_alert") return null;
  const row = ALERTS[event.payload.code];
  return "after" in row ? row.after : null;
}

export function levelOf(event: NotifiedEvent): Level {
  if (event.type === "outage") return event.payload.to === null ? "normal" : "quiet";
  if (event.type === "quality") return event.payload.state === "good" ? "quiet" : "normal";
  return ALERTS[event.payload.code].level;
}

/** Whether the event only says that a condition continues. */
export function isOpen(event: NotifiedEvent): boolean {
  return event.type === "outage" && event.payload.to === null;
}
