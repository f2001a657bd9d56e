import type { Arms } from "../../../src/sandbox/topology.ts";
import type { Stage } from "./stage.ts";

/** What may leave the uplink in a scenario beside WireGuard, ARP, NDP and DHCP, judged by the sniffer's line for it. */
export type Allowance = (leak: string) => boolean;

/**
 * One thing that happens to a gateway under constant traffic from the LAN and from the gateway itself. The stage
 * begins `from` a known state and brings the gateway back there afterwards, whatever the scenario did.
 */
export interface Scenario {
  /** A claim's subject, in words: `the tunnel link is deleted`. */
  name: string;
  arms: readonly Arms[];
  from: "blocked" | "connected";
  /**
   * Runs while the sniffer and the traffic run; throws where what it observes is wrong. `node:assert` and not the
   * test runner's `expect`, for the report plays it too.
   */
  run(stage: Stage): Promise<void>;
  /** Packets that are asked for: the handshakes to an endpoint that is not there, the lookup of a name. */
  allowed?: Allowance;
}
