import { type Address, parseAddress } from "../base/address.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { Host } from "../system/host.ts";
import { Resolver } from "../tunnel/resolver.ts";
import type { SavedState } from "../tunnel/saved-state.ts";
import type { Peer } from "../wireguard/interface.ts";
import type { HeardPeer } from "./handshakes.ts";
import type { LinkedHome } from "./home-record.ts";

interface Deps {
  host: Host;
  killSwitch: KillSwitch;
  savedState: SavedState;
  /** Whether the gateway's own packets have a tunnel. */
  tunnels: { main: { controller: { readonly carriesData: boolean } } };
  log: Pick<Log, "info" | "warn">;
}

/** The owner of the look-ups in the kill switch. */
const OWNER = "HOMES";
/** Keeps the way through a home router open, so that the other home can begin, too. */
const KEEPALIVE_SECONDS = 25;
/** WireGuard begins anew by then; a peer that is silent for longer is away, or elsewhere. */
const SILENT_MS = 180_000;
/** How often the name of one that is silent is looked up. */
const AGAIN_MS = 60_000;
const LOOKED_UP_WITHIN_MS = 15_000;

/** Where other homes are: their endpoints may be names, whose addresses change. */
export class HomeEndpoints {
  private readonly found = new Map<string, { address: Address | null; at: number }>();
  private readonly resolver: Resolver;

  constructor(private readonly deps: Deps) {
    this.resolver = new Resolver(deps);
  }

  /** Null if it has none, or if its name was not found yet. */
  addressOf({ endpoint }: LinkedHome): Address | null {
    if (endpoint === null) return null;
    return parseAddress(endpoint.host) ?? this.found.get(endpoint.host)?.address ?? null;
  }

  /** Looks for those that are silent; returns the peers that are elsewhere now. */
  async look(homes: readonly LinkedHome[], peers: readonly HeardPeer[]): Promise<Peer[]> {
    const moved: Peer[] = [];
    for (const name of this.found.keys())
      if (homes.every(({ endpoint }) => endpoint?.host !== name)) this.found.delete(name);
    for (const home of homes) {
      const peer = peers.find(({ publicKey }) => publicKey === home.public_key);
      const before = this.addressOf(home);
      if (peer === undefined || !this.isDue(home, peer)) continue;
      const after = await this.lookUp(home);
      if (after !== null && after !== before) moved.push(homePeer(home, after));
    }
    return moved;
  }

  private isDue({ endpoint }: LinkedHome, { heardAt }: HeardPeer): boolean {
    const { host } = this.deps;
    if (endpoint === null || parseAddress(endpoint.host) !== null) return false;
    const last = this.found.get(endpoint.host)?.at ?? Number.NEGATIVE_INFINITY;
    const now = host.monotonic();
    return now - (heardAt ?? Number.NEGATIVE_INFINITY) > SILENT_MS && now - last > AGAIN_MS;
  }

  private async lookUp({ endpoint }: LinkedHome): Promise<Address | null> {
    const { host, killSwitch, tunnels, log } = this.deps;
    const name = endpoint?.host ?? "";
    const isInside = tunnels.main.controller.carriesData;
    const path = isInside ? { inside: true as const } : { inside: false as const, owner: OWNER, part: {} };
    try {
      const [address] = await this.resolver.resolve(name, path, AbortSignal.timeout(LOOKED_UP_WITHIN_MS));
      this.found.set(name, { address, at: host.monotonic() });
      return address;
    } catch (error) {
      log.warn(`another home: ${messageOf(error)}`);
      this.found.set(name, { address: this.found.get(name)?.address ?? null, at: host.monotonic() });
      return null;
    } finally {
      if (!isInside) await killSwitch.update(OWNER, null);
    }
  }
}

/** Its peer at the interface of remote devices. Who has its endpoint calls. */
export function homePeer({ public_key, endpoint, prefixes }: LinkedHome, address: Address | null): Peer {
  return {
    config: { publicKey: public_key, allowedIps: [...prefixes] },
    endpoint: endpoint === null || address === null ? null : { address, port: endpoint.port },
    keepalive: endpoint === null ? 0 : KEEPALIVE_SECONDS,
  };
}
