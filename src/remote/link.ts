import { type Address, familyOf, type Prefix, prefixOf } from "../base/address.ts";
import { MARK_MASK, REMOTE_MARK } from "../network/slot.ts";
import type { Host } from "../system/host.ts";
import { type AddressedLink, showAddresses } from "../system/ip.ts";
import { Links } from "../tunnel/links.ts";
import { changesFor, isNone, type Told } from "../wireguard/changes.ts";
import {
  type InterfacePeer,
  type Own,
  ownInDump,
  ownInUapi,
  type Peer,
  peersInDump,
  peersInUapi,
  setconfText,
  uapiText,
} from "../wireguard/interface.ts";
import { publicKeyOf } from "../wireguard/key.ts";

/** What the interface should be. */
export interface WantedLink {
  privateKey: string;
  port: number;
  /** With the lengths of their networks. */
  addresses: readonly Prefix[];
  mtu: number;
  peers: readonly { publicKey: string; presharedKey: string; addresses: readonly Address[] }[];
}

/** The interface from which packets of devices on the road come. */
export class RemoteLink {
  private readonly links: Links;
  /** Whether it was removed, or seen to be missing. Only `apply` makes it, so no program has to run to look again. */
  private isClosed = false;

  constructor(
    private readonly host: Host,
    userspace: string,
    readonly name: string,
  ) {
    this.links = new Links(host, userspace);
  }

  /**
   * Makes the interface as it should be; returns whether it was not ready. Devices that stay as they are notice nothing.
   */
  async apply(wanted: WantedLink): Promise<boolean> {
    this.isClosed = false;
    const told = await this.links.read(this.name);
    const own = told && ownIn(told);
    const isOurs = own !== null && (own.fwmark & MARK_MASK) === REMOTE_MARK;
    const isSame = isOurs && own.publicKey === publicKeyOf(wanted.privateKey);
    const wasReady = isSame && (await this.isReady(wanted));
    if (!wasReady) await this.renew(wanted, own !== null, isSame);
    if (isSame) await this.change(told, wanted);
    else await this.configure(wanted);
    return !wasReady;
  }

  /** Removes the interface; nothing happens if there is none. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    const own = await this.links.own(this.name);
    const isAnothers = own !== null && own.publicKey !== null && (own.fwmark & MARK_MASK) !== REMOTE_MARK;
    if (own !== null && !isAnothers) await this.links.close(this.name);
    // Its program may have been too busy to answer.
    this.isClosed = own !== null || !(await this.links.names()).includes(this.name);
  }

  /** The devices as WireGuard knows them; empty without the interface. */
  async peers(): Promise<InterfacePeer[]> {
    const told = await this.links.read(this.name);
    if (told === null) return [];
    return "uapi" in told ? peersInUapi(told.uapi) : peersInDump(told.dump);
  }

  private async renew(wanted: WantedLink, exists: boolean, isSame: boolean): Promise<void> {
    if (exists && !isSame) await this.links.close(this.name);
    if (exists && isSame) return this.links.batch(this.lines(wanted));
    await this.links.create(this.name, this.lines(wanted));
  }

  private lines({ addresses, mtu }: WantedLink): string[] {
    return [
      // `noprefixroute`: only the table of the LAN has routes to devices on the road.
      ...addresses.map(
        (address) =>
          `address replace ${address} dev ${this.name} noprefixroute${familyOf(address) === 6 ? " nodad" : ""}`,
      ),
      `link set dev ${this.name} mtu ${mtu} up`,
    ];
  }

  private async isReady({ addresses, mtu }: WantedLink): Promise<boolean> {
    const [found] = await showAddresses(this.host, "dev", this.name).catch((): AddressedLink[] => []);
    const present = found?.addr_info.map(({ local, prefixlen }) => `${local}/${prefixlen}`) ?? [];
    return (
      found?.mtu === mtu &&
      found.flags.includes("UP") &&
      addresses.every((address) => present.includes(address))
    );
  }

  private async change(told: Told | null, wanted: WantedLink): Promise<void> {
    if (told === null) return;
    const changes = changesFor(told, ownOf(wanted), peersOf(wanted));
    if (!isNone(changes)) await this.links.change(this.name, changes);
  }

  private configure(wanted: WantedLink): Promise<void> {
    const [own, peers] = [ownOf(wanted), peersOf(wanted)];
    return this.links.configure(this.name, {
      uapi: uapiText(own, peers),
      wg: { command: "setconf", text: setconfText(own, peers) },
    });
  }
}

function ownIn(told: Told) {
  return "uapi" in told ? ownInUapi(told.uapi) : ownInDump(told.dump);
}

function ownOf({ privateKey, port }: WantedLink): Own {
  return { privateKey, fwmark: REMOTE_MARK, listenPort: port };
}

function peersOf({ peers }: WantedLink): Peer[] {
  return peers.map(({ publicKey, presharedKey, addresses }) => ({
    config: { publicKey, presharedKey, allowedIps: addresses.map(prefixOf) },
    endpoint: null,
    keepalive: 0,
  }));
}
