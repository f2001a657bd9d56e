import type { HostNetwork } from "../network/host-network.ts";
import type { Host } from "../system/host.ts";
import { Notice } from "./notice.ts";
import { type Obstacle, obstaclesTo } from "./obstacles.ts";
import type { Alarm } from "./repairs.ts";

/** Detects other programs' firewalls that drop what the LAN sends into the tunnel. The kill switch works; the LAN is offline. */
export class OtherFirewalls {
  readonly notice: Notice;

  constructor(
    private readonly host: Host,
    alarm: Alarm,
    /** Base name of the tunnel's interfaces. */
    private readonly base: string,
    /** The interfaces that tunnels use. */
    private readonly tunnels: () => readonly string[],
  ) {
    this.notice = new Notice(alarm, {
      begins: "forwarding_dropped",
      ends: "forwarding_restored",
      over: "No other firewall drops what the LAN sends into the tunnel now.",
    });
  }

  async look({ lans, ipv6 }: HostNetwork): Promise<void> {
    const passage = { lans: lans.map((lan) => lan.interface), tunnels: this.tunnels(), base: this.base };
    // A failed look, as when a table disappears meanwhile, changes nothing; the next one decides.
    const found = lans.length === 0 ? [] : await obstaclesTo(this.host, passage).catch(() => null);
    if (found === null) return;
    const obstacles = found.filter(({ chain }) => ipv6 === "on" || !chain.startsWith("ip6 "));
    this.notice.set(obstacles.length === 0 ? null : sentenceOf(obstacles));
  }
}

function sentenceOf(obstacles: readonly Obstacle[]): string {
  const chains = obstacles.map(({ chain }) => chain).join(", ");
  const remedies = obstacles.map(({ remedy }) => remedy).join("; ");
  return `Another firewall drops what the LAN sends into the tunnel (${chains}); to let it through: ${remedies}`;
}
