import { accessRoutes } from "./access.ts";
import { accountRoutes } from "./accounts.ts";
import { backupRoutes } from "./backups.ts";
import { claimRoutes } from "./claim.ts";
import { dashboardRoutes } from "./dashboard.ts";
import { destinationRoutes } from "./destinations.ts";
import { deviceRoutes, networkRoute, networkRoutes } from "./devices.ts";
import { dnsRoutes } from "./dns.ts";
import { eventRoute } from "./events.ts";
import { forwardRoutes } from "./forwards.ts";
import { gluetunRoutes } from "./gluetun.ts";
import { healthRoutes } from "./health.ts";
import { historyRoutes } from "./history.ts";
import { linkRoutes } from "./links.ts";
import { metricsRoute } from "./metrics.ts";
import { notificationRoutes } from "./notifications.ts";
import { keyPairRoute, ownServerRoutes } from "./own-servers.ts";
import { ownerRoutes } from "./owner.ts";
import { pageRoute } from "./page.ts";
import { remoteRoutes } from "./remote.ts";
import type { Route } from "./route.ts";
import { scheduleRoutes } from "./schedules.ts";
import { serverRoutes } from "./servers.ts";
import { settingsRoutes } from "./settings.ts";
import { speedRoutes } from "./speed-tests.ts";
import { swaggerRoutes } from "./swagger.ts";
import { tokenRoutes } from "./tokens.ts";
import { statusRoute, tunnelRoutes } from "./tunnels.ts";

/** The files of the pages. */
export const PAGES: readonly Route[] = [...dashboardRoutes, ...swaggerRoutes];

/** The endpoints in the order of the OpenAPI document, those of gluetun's control server only if they are offered. */
export function routesOf(gluetun: boolean): readonly Route[] {
  return [
    ...(gluetun ? gluetunRoutes : []),
    statusRoute,
    ...serverRoutes,
    ...accountRoutes,
    ...tunnelRoutes,
    ...speedRoutes,
    ...ownServerRoutes,
    ...deviceRoutes,
    ...networkRoutes,
    ...destinationRoutes,
    ...forwardRoutes,
    ...remoteRoutes,
    ...linkRoutes,
    ...scheduleRoutes,
    ...dnsRoutes,
    networkRoute,
    ...historyRoutes,
    keyPairRoute,
    ...healthRoutes,
    eventRoute,
    ...settingsRoutes,
    ...notificationRoutes,
    ...tokenRoutes,
    ...backupRoutes,
    ...accessRoutes,
    ...claimRoutes,
    ...ownerRoutes,
    pageRoute,
    metricsRoute,
  ];
}
