import type { Host } from "../system/host.ts";
import type { InterfacePeer } from "../wireguard/interface.ts";

/** A peer with when it was heard last, on the monotonic clock; null if it never was. */
export type HeardPeer = InterfacePeer & { heardAt: number | null };

/**
 * WireGuard has the time of day of a handshake, and that clock may be set at any time. So it only tells the age of a
 * handshake that is new.
 */
export class Handshakes {
  private known = new Map<string, { latest: number; at: number }>();

  constructor(private readonly clock: Pick<Host, "now" | "monotonic">) {}

  take(peers: readonly InterfacePeer[]): HeardPeer[] {
    const before = this.known;
    this.known = new Map();
    return peers.map((peer) => {
      const { publicKey, latestHandshake: latest } = peer;
      if (latest === 0) return { ...peer, heardAt: null };
      const known = before.get(publicKey);
      const at = known?.latest === latest ? known.at : this.timeOf(latest);
      this.known.set(publicKey, { latest, at });
      return { ...peer, heardAt: at };
    });
  }

  private timeOf(latest: number): number {
    return this.clock.monotonic() - Math.max(0, this.clock.now() - latest);
  }
}
