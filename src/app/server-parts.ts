import type { AlertArgs } from "../base/alert-rows.ts";
import type { Settings } from "../base/settings.ts";
import { ServerConnections } from "../providers/connections.ts";
import { listSourceOf } from "../providers/given.ts";
import { ownEndOf } from "../providers/own-end.ts";
import { Registrations } from "../providers/registrations.ts";
import { Catalogue } from "../servers/catalogue.ts";
import { Favourites } from "../servers/favourites.ts";
import { ManagedList } from "../servers/managed.ts";
import { Updates } from "../servers/updates.ts";
import type { Host } from "../system/host.ts";
import { QualitySettings } from "../tunnel/quality-settings.ts";
import { Switches } from "../tunnel/switches.ts";
import type { KillSwitchParts } from "./kill-switch-parts.ts";

export type Base = KillSwitchParts & { host: Host; settings: Settings };
export type ServerParts = Awaited<ReturnType<typeof serverPartsOn>>;

/** The servers, and what people have decided about connections. */
export async function serverPartsOn({ host, settings, store, events, alerts, log }: Base) {
  const registrations = new Registrations(store, settings);
  const current = registrations.current();
  const source = listSourceOf(settings, current.provider);
  const managed = new ManagedList(await ownEndOf(host, settings, current));
  await managed.load(host, source, store);
  const catalogue = new Catalogue(store, managed);
  const onShrunk = (lists: AlertArgs<"list_shrunk">) => alerts.raise("list_shrunk", lists);
  return {
    registrations,
    connections: new ServerConnections({ settings, registrations, clock: host }),
    catalogue,
    favourites: new Favourites(store, catalogue, events),
    updates: new Updates({ host, store, catalogue, log, onShrunk }, source),
    switches: new Switches(settings, store),
    qualitySettings: new QualitySettings(store),
  };
}
