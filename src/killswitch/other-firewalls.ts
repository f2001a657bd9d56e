import type { Alarm } from "../base/alert.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Host } from "../system/host.ts";
import { bridgedTrouble } from "./bridged.ts";
import { Notice } from "./notice.ts";
import { obstaclesTo, summaryOf } from "./obstacles.ts";

/** What the kill switch knows about the ways out. */
interface Ways {
  network: HostNetwork;
  /** The uplink if devices leave by it, outside the tunnel; null otherwise. */
  directUplink: string | null;
}

/**
 * Detects firewalls of other programs that drop the LAN's packets, and settings that make the gateway's own firewall
 * drop packets that are not for it. The kill switch works, but the LAN is offline.
 */
export class OtherFirewalls {
  readonly notice: Notice;
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
    this.notice = new Notice(alarm, {
      begins: "forwarding_dropped",
      ends: "forwarding_restored",
      over: "No other firewall drops what the LAN sends now.",
    });
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
    const { drops, chains, remedy } = summaryOf(obstacles);
    const sentences = [
      ...(obstacles.length === 0
        ? []
        : [`Another firewall drops ${drops} (${chains}); to let it through: ${remedy}`]),
      ...(bridged === null ? [] : [`${capitalised(bridged.message)}; to end that: ${bridged.remedy}`]),
    ];
    this.notice.set(sentences.length === 0 ? null : sentences.join("; "));
  }
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
