import { type Static, Type } from "typebox";
import { type AlertCode, SecurityAlert } from "../base/alert.ts";
import { Quality } from "../tunnel/quality-facts.ts";

/** A tunnel that should be up carried nothing for a while. */
export const Outage = Type.Object(
  {
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
  },
  { additionalProperties: false },
);
export type Outage = Static<typeof Outage>;

/** A tunnel has become slow or lossy, or is good again. */
export const QualityChange = Type.Object(
  {
    tunnel: Type.String(),
    ...Quality.properties,
    /** Sentences that say where the reason is; null if it is good again. */
    reason: Type.Union([Type.String(), Type.Null()]),
    /** ISO 8601. */
    at: Type.String(),
  },
  { additionalProperties: false },
);
export type QualityChange = Static<typeof QualityChange>;

/** An event that is reported to people. */
export const NotifiedEvent = Type.Union([
  Type.Object(
    { type: Type.Literal("security_alert"), payload: SecurityAlert },
    { additionalProperties: false },
  ),
  Type.Object({ type: Type.Literal("outage"), payload: Outage }, { additionalProperties: false }),
  Type.Object({ type: Type.Literal("quality"), payload: QualityChange }, { additionalProperties: false }),
]);
export type NotifiedEvent = Static<typeof NotifiedEvent>;

/** `quiet` makes no sound; `urgent` means that someone has to act. */
export const LEVELS = ["quiet", "normal", "urgent"] as const;
export type Level = (typeof LEVELS)[number];

/** The subject of each alert, so that damage and its repair are reported together, and its level. */
const ALERTS: Record<AlertCode, readonly [cause: string, level: Level]> = {
  firewall_altered: ["firewall", "normal"],
  firewall_restored: ["firewall", "quiet"],
  routing_altered: ["routing", "normal"],
  routing_restored: ["routing", "quiet"],
  foreign_rule: ["foreign rule", "urgent"],
  foreign_rule_gone: ["foreign rule", "quiet"],
  lan_route: ["LAN route", "urgent"],
  lan_route_gone: ["LAN route", "quiet"],
  forwarding_dropped: ["forwarding", "urgent"],
  forwarding_restored: ["forwarding", "quiet"],
  other_router: ["other router", "urgent"],
  other_router_gone: ["other router", "quiet"],
  protection_contested: ["contest", "urgent"],
  protection_uncontested: ["contest", "quiet"],
  protection_failed: ["protection", "urgent"],
  protection_restored: ["protection", "quiet"],
  killswitch_off: ["kill switch", "urgent"],
  killswitch_on: ["kill switch", "quiet"],
  direct_changed: ["direct", "normal"],
  remote_changed: ["remote access", "normal"],
  remote_lost: ["way in", "normal"],
  remote_found: ["way in", "quiet"],
  remote_moved: ["way in", "urgent"],
  account_changed: ["account", "normal"],
  access_changed: ["access", "normal"],
  backup_taken: ["backup", "normal"],
  backup_restored: ["backup", "normal"],
  notifications_changed: ["notifications", "normal"],
  connections_full: ["connections", "urgent"],
  connections_free: ["connections", "quiet"],
  state_damaged: ["state", "normal"],
  state_not_saved: ["saving", "normal"],
  state_saved: ["saving", "quiet"],
  schedule_failed: ["schedule", "normal"],
  quota_used: ["quota", "normal"],
  exit_moved: ["exits in order", "quiet"],
  list_damaged: ["list", "normal"],
  list_shrunk: ["list", "quiet"],
};

/** Events of the same cause are reported together. */
export function causeOf(event: NotifiedEvent): string {
  return event.type === "security_alert"
    ? ALERTS[event.payload.code][0]
    : `${event.type} ${event.payload.tunnel}`;
}

export function levelOf(event: NotifiedEvent): Level {
  if (event.type === "outage") return event.payload.to === null ? "normal" : "quiet";
  if (event.type === "quality") return event.payload.state === "good" ? "quiet" : "normal";
  return ALERTS[event.payload.code][1];
}

/** Whether the event only says that a condition continues. */
export function isOpen(event: NotifiedEvent): boolean {
  return event.type === "outage" && event.payload.to === null;
}
