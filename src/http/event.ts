import { type Static, type TLiteral, type TSchema, Type } from "typebox";
import { SecurityAlert } from "../base/alert.ts";
import type { EventOf } from "../base/bus.ts";
import { enumOf } from "../base/enum.ts";
import { objectOf } from "../base/object.ts";
import { DeviceUpdate } from "../devices/schema.ts";
import { DnsStatus } from "../dns/schema.ts";
import { Forward, ForwardId } from "../forwards/schema.ts";
import { Provider } from "../servers/schema.ts";
import { RunningSpeedTest } from "../speed/schema.ts";
import { Status, TunnelRow } from "../tunnel/schema.ts";
import { ManagedChoices } from "./schema.ts";
import { TrafficUpdate } from "./traffic.ts";

export const StaleField = Type.Array(Type.String(), {
  description: "the paths whose answers it may have changed, apart from what the payload says",
});

/** The messages of `/ws` by their `type`. */
export const EVENTS = {
  status_change: message("status_change", Status, "sent on opening and at every change of state"),
  tunnel_update: message(
    "tunnel_update",
    TunnelRow,
    "sent at every change of state of any tunnel, and of the number of its devices",
  ),
  tunnel_removed: message(
    "tunnel_removed",
    objectOf({ name: Type.String() }),
    "there is no tunnel of this name any more",
  ),
  server_update: message(
    "server_update",
    objectOf({ provider: Provider, count: Type.Integer({ minimum: 0 }) }),
    "the list of a provider changed; count is its number of servers now",
  ),
  device_update: message(
    "device_update",
    DeviceUpdate,
    "a device came, fell silent, or got another name or exit",
  ),
  device_removed: message(
    "device_removed",
    objectOf({ id: Type.String() }),
    "a device that was forgotten, or not heard for long, is not listed any more",
  ),
  forward_update: message("forward_update", Forward, "a port was forwarded, opened, moved or closed"),
  forward_removed: message("forward_removed", ForwardId, "a port is not forwarded any more"),
  remote_update: message(
    "remote_update",
    objectOf({ on: Type.Boolean(), devices: Type.Integer({ minimum: 0 }) }),
    "remote access was turned on or off, or a device away from home was added, changed or removed; devices is their number while it is on",
  ),
  account_update: message(
    "account_update",
    ManagedChoices,
    "the gateway was logged in or out at a provider, has another key there, or `managed` has the servers of another one",
  ),
  settings_update: message(
    "settings_update",
    objectOf({
      changed: enumOf(["tokens", "notifications", "mqtt", "settings"]),
    }),
    "a token was made or removed, an address for notifications was added or removed, the connection to the MQTT broker began or ended, or failover, the connection after a restart, how quality is measured, the rates of the line, the time zone, the shared rate or the shared quota was changed",
  ),
  favourites_update: message(
    "favourites_update",
    objectOf({ count: Type.Integer({ minimum: 0 }) }),
    "a server was added to the favourites or removed; count is their number now",
  ),
  destinations_update: message(
    "destinations_update",
    objectOf({ count: Type.Integer({ minimum: 0 }) }),
    "a rule for destinations was made, changed or removed; count is their number now",
  ),
  dns_update: message(
    "dns_update",
    Type.Pick(DnsStatus, ["state", "paused_until"]),
    "a list of blocked names was added, removed or fetched, the lists were paused, or another resolver is in charge",
  ),
  schedules_update: message(
    "schedules_update",
    objectOf({ count: Type.Integer({ minimum: 0 }) }),
    "a schedule was made, changed, removed or carried out, or has failed; count is their number now",
  ),
  speed_update: message(
    "speed_update",
    objectOf({ running: Type.Union([RunningSpeedTest, Type.Null()]) }),
    "a speed test has begun, goes on (once a second), or has ended (then running is null)",
  ),
  security_alert: message(
    "security_alert",
    SecurityAlert,
    "the protection was altered, failed or was restored, or another router leads devices past the gateway",
  ),
  traffic: message(
    "traffic",
    TrafficUpdate,
    "what tunnels and devices have carried: sent once a second to sockets that were opened as /ws?traffic",
  ),
};

export const EventMessage = Type.Union(Object.values(EVENTS));
export type EventMessage = GatewayEvent & { stale: Stale };

/** Paths that `GET` answers. */
export type Stale = readonly `/api/${string}`[];

type Payloads = { [Type in keyof typeof EVENTS]: Static<(typeof EVENTS)[Type]>["payload"] };

/** What `/ws` tells, apart from what it makes stale. */
export type GatewayEvent = EventOf<Payloads>;

/** Those that other rooms publish as `/ws` tells them. The others follow from something else. */
export type PublishedEvents = Omit<Payloads, "settings_update" | "traffic">;

function message<Name extends string, Payload extends TSchema>(
  type: Name,
  payload: Payload,
  description: string,
) {
  const name: TLiteral<Name> = Type.Literal(type);
  return objectOf({ type: name, payload, stale: StaleField }, { description });
}
