import { LAN_TABLE, ROUTED_TABLE, type Slot } from "../network/slot.ts";
import type { Host } from "../system/host.ts";
import { type Route, showRoutes } from "../system/ip.ts";

/** A route of another program in one of the gateway's routing tables. */
export interface ForeignRoute {
  family: 4 | 6;
  /** In the form that `ip route del` takes. */
  text: string;
}

/**
 * Routes in the tunnels' tables that do not lead into that tunnel, and in those of the LAN that do not lead there.
 * What devices and the gateway send to their destinations would go through another interface, and only the firewall
 * would refuse it.
 */
export async function foreignRoutes(
  host: Host,
  slots: readonly Slot[],
  lanLinks: readonly string[],
): Promise<ForeignRoute[]> {
  const lanTables = [ROUTED_TABLE, LAN_TABLE].map(String);
  const tables = new Map<string, readonly string[]>([
    ...slots.map(({ table, links }) => [String(table), links] as const),
    ...lanTables.map((table) => [table, lanLinks] as const),
  ]);
  const families = await Promise.all(
    ([4, 6] as const).map(async (family) => {
      const routes = await showRoutes(host, family, "table", "all").catch((): Route[] => []);
      return (
        routes
          .filter(({ table = "main", dev = "" }) => tables.get(table)?.includes(dev) === false)
          // The gateway's own.
          .filter(({ table = "", type }) => !(lanTables.includes(table) && type === "unreachable"))
          .map((route) => ({ family, text: textOf(route) }))
      );
    }),
  );
  return families.flat();
}

export async function removeRoutes(host: Host, routes: readonly ForeignRoute[]): Promise<void> {
  for (const family of [4, 6] as const) {
    const lines = routes.filter((route) => route.family === family).map(({ text }) => `route del ${text}\n`);
    // A route that is already gone is no failure.
    if (lines.length > 0)
      await host
        .run(["ip", `-${family}`, "-force", "-batch", "-"], { stdin: lines.join("") })
        .catch(() => {});
  }
}

function textOf({ type, dst, gateway, dev, metric, table }: Route): string {
  return [
    ...(type === undefined ? [] : [type]),
    dst,
    ...(gateway === undefined ? [] : ["via", gateway]),
    // IPv6 shows `lo` for a route that leads nowhere, and does not take it.
    ...(dev === undefined || type !== undefined ? [] : ["dev", dev]),
    ...(metric === undefined ? [] : ["metric", metric]),
    ...["table", table],
  ].join(" ");
}
