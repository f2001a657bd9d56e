import type { Bus } from "../base/bus.ts";
import type { StoreEvents } from "../store/store.ts";
import type { EventMessage, GatewayEvent, PublishedEvents, Stale } from "./event.ts";
import { type Changed, KEPT, SHOWN_BY, STALE_AFTER, STALE_AFTER_ADDED } from "./stale.ts";

/** The events of other rooms that `/ws` sends. */
export interface ShownEvents extends PublishedEvents, StoreEvents {
  /** The connection to the MQTT broker has begun or ended. */
  broker_update: null;
  /** What devices share that have no rate or quota of their own. */
  shared_limits: null;
  /** There is a tunnel of this name now. */
  tunnel_added: { name: string };
}

/** Those that are messages as they are. */
const TOLD = Object.keys(STALE_AFTER).filter(
  (type) => type !== "settings_update" && type !== "traffic",
) as (keyof PublishedEvents)[];

/** Calls the listener with each message of `/ws`, in order, until `signal` aborts; `traffic` is apart. */
export function followMessages(
  events: Pick<Bus<ShownEvents>, "subscribe">,
  listener: (message: EventMessage) => void,
  signal?: AbortSignal,
): void {
  /** What the next message of a type makes stale besides. */
  const next = new Map<GatewayEvent["type"], Stale>();
  const follow: typeof events.subscribe = (types, hear) => events.subscribe(types, hear, signal);
  const settings = (changed: Changed, stale: Stale) =>
    listener(messageOf({ type: "settings_update", payload: { changed } }, stale));
  follow("tunnel_added", () => next.set("tunnel_update", STALE_AFTER_ADDED));
  follow(TOLD, (event) => {
    const stale = next.get(event.type);
    next.delete(event.type);
    listener(messageOf(event, stale));
  });
  follow(["broker_update", "shared_limits"], ({ type }) =>
    settings(SHOWN_BY[type].changed, SHOWN_BY[type].stale),
  );
  follow("values_written", ({ payload: { keys } }) => {
    const written = Map.groupBy(
      KEPT.filter(({ of }) => keys.has(of.key)),
      ({ by }) => by,
    );
    for (const [by, rows] of written) {
      const stale = [...new Set(rows.flatMap((row) => row.stale))];
      if (by === "status_change") next.set(by, stale);
      else settings(by, stale);
    }
  });
}

/** The event as it is sent. */
export function messageOf(event: GatewayEvent, more: Stale = []): EventMessage {
  return { ...event, stale: [...STALE_AFTER[event.type], ...more] };
}
