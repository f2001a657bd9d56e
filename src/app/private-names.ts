import { hostname } from "node:os";
import { NETWORKS } from "../devices/network-record.ts";
import { SCHEDULES } from "../schedules/schedule.ts";
import type { Parts } from "./parts.ts";

/** Names that say nothing about a home. */
const COMMON = new Set([
  ...["main", "localhost", "portcullis", "raspberrypi", "debian"],
  ...["managed", "custom", "imported", "unknown"],
]);

/** What people and providers have named: servers, places that were asked for, devices, networks, tunnels, schedules, tokens, targets of notifications and this machine. */
export function privateNames({
  catalogue,
  savedState,
  store,
  tokens,
  notifications,
}: Pick<Parts, "catalogue" | "savedState" | "store" | "tokens" | "notifications">): string[] {
  const servers = catalogue.all().flatMap(({ name, city, location }) => [name, city, location]);
  const devices = store.devices().flatMap(({ name }) => name ?? []);
  const networks = NETWORKS.read(store).flatMap(([, { name }]) => name ?? []);
  const schedules = SCHEDULES.read(store).map(({ name }) => name);
  const clients = [...tokens.list().map(({ name }) => name), ...notifications.names()];
  const names = [
    ...[...servers, ...devices, ...networks, ...savedState.tunnels().keys()],
    ...[...schedules, ...clients, hostname()],
  ];
  return [...new Set(names)].filter((name) => name !== "" && !COMMON.has(name.toLowerCase()));
}
