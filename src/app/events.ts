import type { DnsEvents } from "../dns/events.ts";
import type { ShownEvents } from "../http/messages.ts";
import type { KillSwitchEvents } from "../killswitch/killswitch.ts";
import type { PortEvents } from "../port-mapping/opener.ts";
import type { RemoteEvents } from "../remote/devices.ts";
import type { TunnelEvents } from "../tunnel/tunnels.ts";

/** All that parts tell each other by the bus. */
export interface GatewayEvents
  extends ShownEvents,
    DnsEvents,
    TunnelEvents,
    PortEvents,
    KillSwitchEvents,
    RemoteEvents {}
