import { Elysia } from "elysia";
import { customRoutes } from "./custom.ts";
import type { Gateway } from "./gateway.ts";
import { healthRoutes } from "./health.ts";
import { importRoutes } from "./import.ts";
import { keyPairRoutes } from "./keypair.ts";
import { providerRoutes } from "./providers.ts";
import { serverRoutes } from "./servers.ts";
import { statusRoutes } from "./status.ts";
import { tunnelRoutes } from "./tunnel.ts";

/** The eleven endpoints of the contract. */
export function routesOf(gateway: Gateway) {
  return new Elysia()
    .use(statusRoutes(gateway))
    .use(providerRoutes(gateway))
    .use(serverRoutes(gateway))
    .use(tunnelRoutes(gateway))
    .use(customRoutes(gateway))
    .use(importRoutes(gateway))
    .use(keyPairRoutes(gateway))
    .use(healthRoutes(gateway));
}
