import { hostname } from "node:os";
import type { Graph } from "./graph.ts";

/** Names of machines and the like that mean nothing to strangers, or everything. */
const COMMON = new Set(["main", "localhost", "portcullis", "raspberrypi", "debian"]);

/** What people and providers have named: servers, places that were asked for, devices, tunnels and this machine. */
export function privateNames({
  catalogue,
  savedState,
  store,
}: Pick<Graph, "catalogue" | "savedState" | "store">): string[] {
  const servers = catalogue.all().flatMap(({ name, label, city, location }) => [name, label, city, location]);
  const devices = store.devices().flatMap(({ name }) => name ?? []);
  const names = [...servers, ...devices, ...savedState.tunnels().keys(), hostname()];
  return [...new Set(names)].filter((name) => name !== "" && !COMMON.has(name.toLowerCase()));
}
