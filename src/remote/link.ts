import { familyOf, type Prefix } from "../base/address.ts";
import { MARK_MASK, REMOTE_MARK } from "../network/slot.ts";
import type { Host } from "../system/host.ts";
import { type AddressedLink, showAddresses } from "../system/ip.ts";
import { Links } from "../tunnel/links.ts";
import { changesFor, type InterfaceDump, isNone } from "../wireguard/changes.ts";
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
import { refused } from "./refusals.ts";

/** Userspace programs have needed seconds on a machine with ninety programs that wanted to run. */
const ANSWERS_WITHIN_MS = 10_000;
const ANSWER_POLL_MS = 100;

/** What the interface should be. */
export interface WantedLink {
  privateKey: string;
  port: number;
  /** With the lengths of their networks. */
  addresses: readonly Prefix[];
  mtu: number;
  peers: readonly Peer[];
}

/** The interface from which packets of remote devices come. */
export class RemoteLink {
  private readonly links: Links;
  /** Whether it was removed, or seen to be missing. Only `apply` makes it, so no program has to run to look again. */
  private isClosed = false;
  /** Whether `apply` has made it, or has found it to be the gateway's. */
  private isOurs = false;

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
    const told = await this.told();
    const isSame =
      told !== null && isRemote(told) && ownIn(told).publicKey === publicKeyOf(wanted.privateKey);
    const wasReady = isSame && (await this.isReady(wanted));
    // Its program still answers for a moment after the interface was deleted.
    if (wasReady || (isSame && (await this.exists()))) {
      if (!wasReady) await this.links.batch(this.lines(wanted));
      await this.change(told, wanted);
    } else await this.renew(wanted);
    this.isOurs = true;
    return !wasReady;
  }

  /** Removes the interface; nothing happens if there is none. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    if (!this.isOurs) return this.closeFound();
    await this.links.close(this.name);
    this.isOurs = false;
    this.isClosed = true;
  }

  /** Leads a peer to another endpoint, which `apply` leaves as it is: peers may move. */
  redirect(peer: Peer): Promise<void> {
    return this.links.change(this.name, { listenPort: null, fwmark: null, removed: [], peers: [peer] });
  }

  /** The devices as WireGuard knows them; null without the interface, or if its program is too busy to answer. */
  async peers(): Promise<InterfacePeer[] | null> {
    const told = await this.links.read(this.name);
    if (told === null) return null;
    return "uapi" in told ? peersInUapi(told.uapi) : peersInDump(told.dump);
  }

  /**
   * The interface's answer; null if there is none. If one whose program is too busy to answer counted as missing, a
   * second program would be started, which cannot have it.
   */
  private async told(): Promise<InterfaceDump | null> {
    const deadline = this.host.monotonic() + ANSWERS_WITHIN_MS;
    for (;;) {
      const told = await this.links.read(this.name);
      if (told !== null || !(await this.exists())) return told;
      if (this.host.monotonic() > deadline) throw refused("link_silent", { link: this.name });
      await this.host.sleep(ANSWER_POLL_MS);
    }
  }

  private async exists(): Promise<boolean> {
    return (await this.links.names()).includes(this.name);
  }

  /** That of an earlier process. */
  private async closeFound(): Promise<void> {
    const told = await this.links.read(this.name);
    if (told !== null && isRemote(told)) await this.links.close(this.name);
    // Its program may have been too busy to answer.
    this.isClosed = told !== null || !(await this.exists());
  }

  private async renew(wanted: WantedLink): Promise<void> {
    if (await this.exists()) await this.links.close(this.name);
    await this.links.create(this.name, this.lines(wanted));
    await this.configure(wanted);
  }

  private lines({ addresses, mtu }: WantedLink): string[] {
    return [
      // `noprefixroute`: only the table of the LAN has routes to remote devices.
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

  private async change(told: InterfaceDump | null, wanted: WantedLink): Promise<void> {
    if (told === null) return;
    const changes = changesFor(told, ownOf(wanted), wanted.peers);
    if (!isNone(changes)) await this.links.change(this.name, changes);
  }

  private configure(wanted: WantedLink): Promise<void> {
    const [own, { peers }] = [ownOf(wanted), wanted];
    return this.links.configure(this.name, {
      uapi: uapiText(own, peers),
      wg: { command: "setconf", text: setconfText(own, peers) },
    });
  }
}

/** Whether it has the mark of this interface, or no key yet, as just after it was made. */
function isRemote(told: InterfaceDump): boolean {
  const own = ownIn(told);
  return own.publicKey === null || (own.fwmark & MARK_MASK) === REMOTE_MARK;
}

function ownIn(told: InterfaceDump) {
  return "uapi" in told ? ownInUapi(told.uapi) : ownInDump(told.dump);
}

function ownOf({ privateKey, port }: WantedLink): Own {
  return { privateKey, fwmark: REMOTE_MARK, listenPort: port };
}
