import { type Obstacle, obstaclesTo } from "../firewall/others.ts";
import type { Links } from "../routing/links.ts";
import type { Host } from "../system/host.ts";
import { Notice } from "./notice.ts";
import type { Alarm } from "./repairs.ts";

/** Sees other programs' firewalls drop what the LAN sends into the tunnel. The kill switch holds; the LAN gets nothing. */
export class OtherFirewalls {
  readonly notice: Notice;

  constructor(
    private readonly host: Host,
    alarm: Alarm,
    /** Base name of the tunnel's interfaces. */
    private readonly base: string,
  ) {
    this.notice = new Notice(alarm, {
      begins: "forwarding_dropped",
      ends: "forwarding_restored",
      over: "No other firewall drops what the LAN sends into the tunnel any longer.",
    });
  }

  async look({ lans, ipv6 }: Links): Promise<void> {
    const passage = { lans: lans.map((lan) => lan.interface), base: this.base };
    // Where it cannot be found out, as when a table goes meanwhile, the next look says more.
    const found = lans.length === 0 ? [] : await obstaclesTo(this.host, passage).catch(() => null);
    if (found === null) return;
    const obstacles = found.filter(({ chain }) => ipv6 === "on" || !chain.startsWith("ip6 "));
    this.notice.set(obstacles.length === 0 ? null : sentenceOf(obstacles));
  }
}

function sentenceOf(obstacles: readonly Obstacle[]): string {
  const chains = obstacles.map(({ chain }) => chain).join(", ");
  const remedies = obstacles.map(({ remedy }) => remedy).join("; ");
  return `Another firewall drops what the LAN sends into the tunnel (${chains}); let it through: ${remedies}`;
}
