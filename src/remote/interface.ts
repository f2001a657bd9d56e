import { isIpv6, lengthOf, type Prefix, parsePrefix, prefixOf } from "../base/address.ts";
import type { Bus } from "../base/bus.ts";
import { shared } from "../base/readings.ts";
import { type Reason, reasonOf } from "../base/reason.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { Store } from "../store/store.ts";
import type { Host } from "../system/host.ts";
import type { Peer } from "../wireguard/interface.ts";
import type { RemoteDevices, RemoteEvents } from "./devices.ts";
import { Handshakes, type HeardPeer } from "./handshakes.ts";
import { type HomeEndpoints, homePeer } from "./home-endpoints.ts";
import { linkedIn } from "./home-record.ts";
import { RemoteLink, type WantedLink } from "./link.ts";
import { gatewayIn } from "./networks.ts";
import { refused } from "./refusals.ts";
import { type Access, addressesOf, REMOTE_PRIVATE_KEY } from "./saved.ts";

interface Deps {
  host: Host;
  store: Store;
  killSwitch: KillSwitch;
  remote: RemoteDevices;
  wayIn: { readonly mtu: number };
  homes: Pick<HomeEndpoints, "addressOf">;
  bounds: { limitRemote(link: string | null, homes: readonly Prefix[]): Promise<void> };
  events: Pick<Bus<RemoteEvents>, "subscribe">;
  /** The program that provides WireGuard interfaces if the kernel does not. */
  userspace: string;
}

/** Keeps the interface as it was decided, and notes which devices were heard. */
export class RemoteInterface {
  private readonly link: RemoteLink;
  private readonly handshakes: Handshakes;
  /** Why the interface is not as it should be, or null. */
  fault: Reason | null = null;
  /** Whether what the kernel reports is a change of this process. */
  private isSettling = false;

  constructor(private readonly deps: Deps) {
    this.handshakes = new Handshakes(deps.host);
    this.link = new RemoteLink(deps.host, deps.userspace, deps.remote.link);
    deps.events.subscribe(
      "remote_asked",
      shared(() => this.peers()),
    );
  }

  /** Makes the interface as it should be. The firewall and the routing rules come before. */
  async settle(): Promise<void> {
    const { remote, killSwitch, bounds } = this.deps;
    this.isSettling = true;
    try {
      const wanted = remote.access?.on === true ? this.wanted(remote.access) : null;
      const ofHomes = linkedIn(remote.homes).flatMap(({ prefixes }) => prefixes);
      await bounds.limitRemote(wanted === null ? null : this.link.name, ofHomes);
      if (wanted === null) await this.link.close();
      else if (await this.link.apply(wanted)) await killSwitch.restoreRoutes();
      this.fault = null;
    } catch (error) {
      this.fault = reasonOf(error);
      throw error;
    } finally {
      this.isSettling = false;
    }
  }

  /** The devices as WireGuard knows them, noting when each was heard; empty while remote access is off. */
  async peers(): Promise<readonly HeardPeer[]> {
    const peers = this.deps.remote.access?.on === true ? await this.link.peers() : [];
    // Without an answer, what was heard before still holds.
    if (peers === null) return [];
    const heard = this.handshakes.take(peers);
    this.hear(heard);
    return heard;
  }

  /** Leads a peer to another endpoint. */
  redirect(peer: Peer): Promise<void> {
    return this.link.redirect(peer);
  }

  /** Whether a report of the kernel is about this interface, and another program's doing. */
  mayHaveLost(link: string | null): boolean {
    const isOurs = link === null || link === this.link.name;
    return isOurs && !this.isSettling && this.deps.remote.access?.on === true;
  }

  private wanted(access: Access): WantedLink {
    const { store, killSwitch, remote, wayIn, homes } = this.deps;
    const privateKey = REMOTE_PRIVATE_KEY.read(store);
    if (privateKey === null) throw refused("own_key_lost");
    const hasIpv6 = killSwitch.network.ipv6 === "on";
    return {
      privateKey,
      port: access.port,
      addresses: ownAddresses(access).filter((each) => hasIpv6 || !isIpv6(each.replace(/\/.*/, ""))),
      mtu: wayIn.mtu,
      peers: [
        ...remote.peers.map(({ id, public_key, preshared_key }) => ({
          config: {
            publicKey: public_key,
            ...(preshared_key !== undefined && { presharedKey: preshared_key }),
            allowedIps: addressesOf(access, id).map(prefixOf),
          },
          endpoint: null,
          keepalive: 0,
        })),
        ...linkedIn(remote.homes).map((home) => homePeer(home, homes.addressOf(home))),
      ],
    };
  }

  private hear(peers: readonly HeardPeer[]): void {
    const { remote } = this.deps;
    remote.heard = new Map(
      remote.peers.flatMap(({ id, public_key }) => {
        const at = peers.find(({ publicKey }) => publicKey === public_key)?.heardAt ?? null;
        return at === null ? [] : [[id, at] as const];
      }),
    );
  }
}

/** The gateway's own, with the lengths of their networks. */
function ownAddresses(access: Access): Prefix[] {
  return gatewayIn(access).flatMap(
    (address, at) =>
      parsePrefix(`${address}/${lengthOf([access.ipv4, access.ipv6][at] ?? access.ipv4)}`) ?? [],
  );
}
