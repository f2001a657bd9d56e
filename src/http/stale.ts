import { TOKENS } from "../access/tokens.ts";
import { LANGUAGE } from "../base/language.ts";
import { LINE } from "../network/fair-queues.ts";
import { ADDED_TARGETS } from "../notifications/notifications.ts";
import { TIME_ZONE } from "../schedules/zone.ts";
import { CURRENT_PROVIDER } from "../servers/catalogue.ts";
import { QUALITY } from "../tunnel/quality-settings.ts";
import { AUTOCONNECT, FAILOVER } from "../tunnel/switches.ts";
import type { EVENTS, GatewayEvent, Stale } from "./event.ts";

/** The answers that an event may have changed, apart from what its payload says. */
export const STALE_AFTER: Readonly<Record<keyof typeof EVENTS, Stale>> = {
  status_change: ["/api/servers/counts", "/api/killswitch", "/api/network", "/api/remote"],
  tunnel_update: [
    ...(["/api/events", "/api/checks", "/api/killswitch"] as const),
    ...(["/api/favourites", "/api/round-trips", "/api/destinations", "/api/remote"] as const),
  ],
  tunnel_removed: ["/api/devices", "/api/checks"],
  server_update: ["/api/servers", "/api/servers/counts", "/api/favourites", "/api/tunnels"],
  device_update: [
    "/api/devices",
    "/api/devices/self",
    "/api/networks",
    "/api/remote",
    "/api/links",
    "/api/schedules",
  ],
  device_removed: ["/api/devices", "/api/devices/self"],
  forward_update: ["/api/forwards", "/api/checks"],
  forward_removed: ["/api/forwards", "/api/checks"],
  remote_update: ["/api/remote", "/api/links", "/api/devices", "/api/checks"],
  account_update: ["/api/managed", "/api/events"],
  settings_update: [],
  favourites_update: ["/api/favourites"],
  destinations_update: ["/api/destinations", "/api/killswitch"],
  dns_update: ["/api/dns", "/api/dns/lists"],
  schedules_update: ["/api/schedules"],
  speed_update: ["/api/speed-tests"],
  security_alert: [
    "/api/events",
    "/api/checks",
    "/api/killswitch",
    "/api/devices",
    "/api/networks",
    "/api/network",
    "/api/remote",
    "/api/links",
  ],
  traffic: [],
};

/** The subjects of a `settings_update`. */
export type Changed = Extract<GatewayEvent, { type: "settings_update" }>["payload"]["changed"];

/** What has no message of its own, and the answers that show it. */
export const SHOWN_BY = {
  broker_update: { changed: "mqtt", stale: ["/api/settings"] },
  shared_limits: { changed: "settings", stale: ["/api/devices", "/api/networks", "/api/schedules"] },
} as const satisfies Record<string, { changed: Changed; stale: Stale }>;

/** A new tunnel is another exit; its first update makes these stale. */
export const STALE_AFTER_ADDED: Stale = ["/api/devices"];

/** The answers that show a kept value which is in force once it is written. */
interface KeptRow {
  of: { readonly key: string };
  /** The message that announces it: a `settings_update`, or the next change of the status. */
  by: Changed | "status_change";
  stale: Stale;
}

export const KEPT: readonly KeptRow[] = [
  { of: FAILOVER, by: "settings", stale: ["/api/settings"] },
  { of: AUTOCONNECT, by: "settings", stale: ["/api/settings"] },
  { of: QUALITY, by: "settings", stale: ["/api/settings"] },
  { of: LINE, by: "settings", stale: ["/api/settings"] },
  { of: LANGUAGE, by: "settings", stale: ["/api/settings"] },
  { of: TIME_ZONE, by: "settings", stale: ["/api/settings", "/api/schedules"] },
  { of: TOKENS, by: "tokens", stale: ["/api/tokens"] },
  { of: ADDED_TARGETS, by: "notifications", stale: ["/api/notifications"] },
  { of: CURRENT_PROVIDER, by: "status_change", stale: ["/api/servers", "/api/providers"] },
];
