import { CONNECTIONS } from "./connections.ts";
import { ENDINGS } from "./endings.ts";
import type { Scenario } from "./scenario.ts";
import { TAMPERING } from "./tampering.ts";
import { UPLINK_SCENARIOS } from "./uplink.ts";

/** Everything that the suite plays, in this order. */
export const SCENARIOS: readonly Scenario[] = [...CONNECTIONS, ...ENDINGS, ...TAMPERING, ...UPLINK_SCENARIOS];
