import type { Scenario } from "./scenario.ts";
import { TUNNEL_SCENARIOS } from "./tunnel.ts";

/** Everything that the suite plays, in this order. */
export const SCENARIOS: readonly Scenario[] = [...TUNNEL_SCENARIOS];
