import { ROUTER_NAT_PMP } from "./router-nat-pmp.ts";
import { ROUTER_PCP } from "./router-pcp.ts";
import type { RouterProtocol } from "./router-protocol.ts";
import { ROUTER_UPNP } from "./router-upnp.ts";

const ROWS = { pcp: ROUTER_PCP, "nat-pmp": ROUTER_NAT_PMP, upnp: ROUTER_UPNP };
export type RouterProtocolName = keyof typeof ROWS;

/** How a home router is asked for a port, in the order in which that is tried. */
export const ROUTER_PROTOCOLS: Readonly<Record<RouterProtocolName, RouterProtocol>> = ROWS;
export const ROUTER_PROTOCOL_NAMES = Object.keys(ROWS) as RouterProtocolName[];
