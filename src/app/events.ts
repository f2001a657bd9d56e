import type { ShownEvents } from "../http/messages.ts";

/** All that parts tell each other by the bus. */
export type GatewayEvents = ShownEvents;
