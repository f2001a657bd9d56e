import type { Alarm } from "../base/alert.ts";
import type { AlertArgs } from "../base/alert-rows.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Host } from "../system/host.ts";
import { type Bridged, bridgedTrouble } from "./bridged.ts";
import { Notice } from "./notice.ts";
import { dropsText, type Obstacle, obstaclesTo, summaryOf } from "./obstacles.ts";

/** What the kill switch knows about the ways out. */
interface Ways {
  network: HostNetwork;
  /** The uplink if devices go through it, outside the tunnel; null otherwise. */
  directUplink: string | null;
}

/**
 * Detects firewalls of other programs that drop the LAN's packets, and settings that make the gateway's own firewall
 * drop packets that are not for it. The kill switch works, but the LAN is offline.
 */
export class OtherFirewalls {
  readonly notice: Notice<"forwarding_dropped">;
  /** Counts the looks: only the result of the last one that began is current. */
  private looks = 0;

  constructor(
    private readonly host: Host,
    alarm: Alarm,
    /** Base name of the tunnel's interfaces. */
    private readonly base: string,
    /** The interfaces that tunnels use. */
    private readonly tunnels: () => readonly string[],
  ) {
    this.notice = new Notice(alarm, "forwarding_dropped", () => alarm("forwarding_restored", {}));
  }

  async look({ network, directUplink }: Ways): Promise<void> {
    const lans = network.lans.map((lan) => lan.interface);
    const passage = { lans, tunnels: this.tunnels(), base: this.base, uplink: directUplink };
    this.looks += 1;
    const own = this.looks;
    // A look that fails, for example because a table disappears meanwhile, changes nothing. The next look decides.
    const [found, bridged] = await Promise.all([
      lans.length === 0 ? [] : obstaclesTo(this.host, passage),
      bridgedTrouble(this.host, network.lans),
    ]).catch(() => [null, null]);
    if (found === null || own !== this.looks) return;
    const obstacles = found.filter(({ chain }) => network.ipv6 === "on" || !chain.startsWith("ip6 "));
    this.notice.set(foundIn(obstacles, bridged));
  }
}

function foundIn(
  obstacles: readonly Obstacle[],
  bridged: Bridged | null,
): AlertArgs<"forwarding_dropped"> | null {
  const { drops, ...summary } = summaryOf(obstacles);
  if (obstacles.length > 0 && bridged !== null)
    return {
      ...{ what: "both", drops: dropsText(drops), ...summary },
      ...{ bridges: bridged.bridges, bridge_remedy: bridged.remedy },
    };
  if (bridged !== null) return { what: "bridge", ...bridged };
  const [only, ...others] = drops;
  if (only === undefined) return null;
  return others.length === 0
    ? { what: only, ...summary }
    : { what: "several", drops: dropsText(drops), ...summary };
}
