import { Elysia } from "elysia";
import { accessRoutes } from "./access.ts";
import { checkRoutes } from "./checks.ts";
import { customRoutes } from "./custom.ts";
import { deviceRoutes } from "./devices.ts";
import type { EventSockets } from "./event-sockets.ts";
import { eventRoutes } from "./events.ts";
import { favouriteRoutes } from "./favourites.ts";
import { forwardRoutes } from "./forwards.ts";
import type { Gate } from "./gate.ts";
import type { Gateway } from "./gateway.ts";
import { gluetunRoutes } from "./gluetun.ts";
import { healthRoutes } from "./health.ts";
import { historyRoutes } from "./history.ts";
import { importRoutes } from "./import.ts";
import { journalRoutes } from "./journal.ts";
import { keyPairRoutes } from "./keypair.ts";
import { killSwitchRoutes } from "./killswitch.ts";
import { metricsRoutes } from "./metrics.ts";
import { networkRoutes } from "./network.ts";
import { providerRoutes } from "./providers.ts";
import { roundTripRoutes } from "./round-trips.ts";
import { scheduleRoutes } from "./schedules.ts";
import { serverRoutes } from "./servers.ts";
import { statusRoutes } from "./status.ts";
import { tunnelRoutes } from "./tunnel.ts";
import { tunnelsRoutes } from "./tunnels.ts";

/** What the operator has chosen of the interface. */
export interface Offer {
  /** Whether the routes of gluetun's control server are answered. */
  gluetun: boolean;
  gate: Gate;
}

/** All routes except those of the documentation. */
export function routesOf(gateway: Gateway, eventSockets: EventSockets, { gluetun, gate }: Offer) {
  return new Elysia()
    .use(gluetun ? gluetunRoutes(gateway) : new Elysia())
    .use(statusRoutes(gateway))
    .use(providerRoutes(gateway))
    .use(serverRoutes(gateway))
    .use(favouriteRoutes(gateway))
    .use(roundTripRoutes(gateway))
    .use(tunnelRoutes(gateway))
    .use(tunnelsRoutes(gateway))
    .use(customRoutes(gateway))
    .use(importRoutes(gateway))
    .use(deviceRoutes(gateway))
    .use(forwardRoutes(gateway))
    .use(scheduleRoutes(gateway))
    .use(networkRoutes(gateway))
    .use(journalRoutes(gateway))
    .use(historyRoutes(gateway))
    .use(keyPairRoutes(gateway))
    .use(healthRoutes(gateway))
    .use(killSwitchRoutes(gateway))
    .use(checkRoutes(gateway))
    .use(eventRoutes(eventSockets, gate))
    .use(accessRoutes(gate))
    .use(metricsRoutes(gateway));
}
