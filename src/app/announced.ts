import type { Stale } from "../http/event.ts";
import type { EventBus } from "../http/event-bus.ts";
import { LINE } from "../network/fair-queues.ts";
import { TIME_ZONE } from "../schedules/zone.ts";
import type { Store } from "../store/store.ts";
import { QUALITY } from "../tunnel/quality-settings.ts";
import { AUTOCONNECT, FAILOVER } from "../tunnel/switches.ts";

/** The answers that show kept values which nothing else announces. */
const SHOWN_BY: ReadonlyMap<string, Stale> = new Map<string, Stale>([
  ...[FAILOVER, AUTOCONNECT, QUALITY, LINE].map(({ key }) => [key, ["/api/settings"]] as const),
  [TIME_ZONE.key, ["/api/settings", "/api/schedules"]],
]);

/** Announces each change of a kept value, whoever has written it: a client, a command, or a restore. */
export function announceWritten(store: Pick<Store, "onWritten">, events: Pick<EventBus, "publish">): void {
  store.onWritten((keys) => {
    const stale = [...new Set([...keys].flatMap((key) => SHOWN_BY.get(key) ?? []))];
    if (stale.length > 0)
      events.publish({ type: "settings_update", payload: { changed: "settings" }, stale });
  });
}
