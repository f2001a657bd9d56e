import type { NetworkCards } from "../../src/sandbox/topology.ts";
import type { Stage } from "./stage.ts";

/** What else than WireGuard, ARP, NDP and DHCP may leave the uplink in a scenario, judged by the sniffer's line. */
export type Allowance = (leak: string) => boolean;

/**
 * One thing that happens to a gateway under constant traffic from the LAN and from the gateway itself. The stage
 * begins `from` a known state and brings the gateway back there afterwards, whatever the scenario did.
 */
export interface Scenario {
  /** A claim's subject, in words: `the tunnel link is deleted`. */
  name: string;
  cards: readonly NetworkCards[];
  from: "blocked" | "connected";
  /**
   * Runs while the sniffer and the traffic run; throws if what it observes is wrong. It uses `node:assert`, not the
   * test runner's `expect`, because the report plays it too.
   */
  run(stage: Stage): Promise<void>;
  /** The devices that it does not concern: they may not lose a packet. Needs both layers. */
  spares?: readonly number[];
  /** Packets that the scenario causes: handshakes to a dead endpoint, the lookup of a name. */
  allowed?: Allowance;
}

/** What happens to main alone. */
export function ofMain(scenarios: readonly Scenario[]): Scenario[] {
  return scenarios.map((scenario) => ({ ...scenario, spares: [1, 3] }));
}
