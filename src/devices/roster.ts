import {
  type Address,
  contains,
  isWithin,
  lengthOf,
  overlap,
  type Prefix,
  parseAddress,
  prefixOf,
} from "../base/address.ts";
import type { Log } from "../base/log.ts";
import type { Mac } from "../base/mac.ts";
import type { Counted, Links } from "../network/counters.ts";
import { markOfDevice } from "../network/device-mark.ts";
import type { Lan } from "../network/lan.ts";
import type { Neighbour } from "../network/neighbours.ts";
import type { Host } from "../system/host.ts";
import type { Nameless } from "./announced.ts";
import { type DeviceId, isPrefixId } from "./id.ts";
import { NeighbourTable } from "./neighbour-table.ts";
import { MAX_UNNAMED_DEVICES, Neighbourhood, type Presence, SILENT_MS } from "./neighbourhood.ts";
import { type Decisions, idsGiven, idsIn, isGiven } from "./record.ts";
import { refused } from "./refusals.ts";
import type { RemotePresence } from "./remote-presence.ts";
import { RoutedNetworks } from "./routed-networks.ts";

interface Deps {
  host: Pick<Host, "run" | "macAt" | "sleep" | "monotonic">;
  killSwitch: {
    /**
     * The place of a network behind another router: the interfaces that lead to it, and other owners of its addresses.
     */
    wayTo(prefix: Prefix): { interfaces: readonly string[]; overlap: string | null };
  };
  remote: RemotePresence;
  decisions: () => Decisions;
  /** The addresses of a network that have sent something, the latest first. */
  heardIn: (prefix: Prefix) => readonly { address: Address; heardAt: number }[];
  onSeen: (macs: readonly Mac[]) => void;
  log: Pick<Log, "warn">;
}

/** Who is there: on the LAN's cables, behind its other routers, and away from home. */
export class Roster {
  readonly networks: RoutedNetworks;
  /** Whether a device must not be dropped, however many strangers are heard. */
  isNeeded: (mac: Mac) => boolean = () => false;
  private readonly neighbourhood: Neighbourhood;
  private readonly table: NeighbourTable;
  private uplink: string | null = null;
  /** Null before the LAN is first known. */
  private lans: readonly Lan[] | null = null;

  constructor(private readonly deps: Deps) {
    const { remote, decisions, killSwitch } = deps;
    this.neighbourhood = new Neighbourhood(
      () => deps.host.monotonic(),
      (mac) => this.isKept(mac),
    );
    this.table = new NeighbourTable({
      ...deps,
      neighbourhood: this.neighbourhood,
      isOnLan: ({ interface: name }) => this.lanLinks.includes(name),
    });
    this.networks = new RoutedNetworks({
      ...deps,
      decided: () => idsIn(decisions()).filter((id) => !remote.isKnown(id)),
      wayTo: (prefix) => killSwitch.wayTo(prefix),
    });
  }

  get ids(): DeviceId[] {
    const { remote, decisions } = this.deps;
    const remotes = new Set<DeviceId>(remote.ids);
    const decided = idsIn(decisions()).filter((id) => remotes.has(id) || !remote.isKnown(id));
    return [
      ...new Set([
        ...this.neighbourhood.macs,
        ...decided,
        ...remotes,
        ...this.inMeshes,
        ...idsGiven(decisions()).filter((id) => !isPrefixId(id)),
      ]),
    ];
  }

  /** Those that have sent something if an address of theirs has: behind other routers, and in meshes. */
  get byAddress(): Prefix[] {
    return [...new Set([...this.networks.prefixes, ...this.inMeshes])];
  }

  /** Those of the LAN. */
  get macs(): Mac[] {
    return this.ids.flatMap((id) => (isPrefixId(id) ? [] : [id]));
  }

  /** Who may ask the gateway's own resolver: those about context people have decided something, and the others on the LAN. */
  get askers(): { decided: DeviceId[]; others: Mac[] } {
    const networks = new Set(this.networks.prefixes);
    const decided = this.ids.filter((id) => (isPrefixId(id) ? networks.has(id) : this.isKept(id)));
    // The devices of a mesh about which nothing is decided have the exit of all of them.
    return { decided: [...decided, ...this.meshPrefixes], others: this.neighbourhood.macs };
  }

  /** The devices that can be asked for their names without a packet leaving the LAN. */
  get nameless(): Nameless[] {
    const names = this.deps.decisions().name.own;
    return this.neighbourhood.macs.flatMap((id) => {
      if (!this.isOnline(id) || names.has(id)) return [];
      const address = this.addressesOf(id).find((each) =>
        this.lanPrefixes.some((prefix) => contains(prefix, each)),
      );
      return address === undefined ? [] : [{ id, address }];
    });
  }

  presence(id: DeviceId): Presence | null {
    if (isPrefixId(id) && this.deps.remote.isKnown(id)) return this.remotePresence(id);
    if (!isPrefixId(id)) return this.neighbourhood.presence(id);
    const mesh = this.meshLinkOf(id);
    return mesh === null ? this.networks.presence(id) : this.networks.presence(id, [mesh]);
  }

  /** The interface by which a device was seen last, or that leads to it; null if there is none. */
  linkOf(id: DeviceId): string | null {
    if (!isPrefixId(id)) return this.neighbourhood.linkOf(id);
    return this.meshLinkOf(id) ?? this.presence(id)?.interface ?? null;
  }

  isOnline(id: DeviceId): boolean {
    return this.presence(id)?.isOnline === true;
  }

  /** Not a network behind another router. */
  isSingle(id: DeviceId): boolean {
    return !isPrefixId(id) || this.deps.remote.isKnown(id);
  }

  /** The addresses that a device has, or had last since the start. */
  addressesOf(id: DeviceId): readonly Address[] {
    if (isPrefixId(id)) return this.deps.remote.addressesOf(id);
    return (this.neighbourhood.presence(id)?.addresses ?? []).flatMap((each) => parseAddress(each) ?? []);
  }

  /** The device that uses an address now. */
  holderOf(address: Address): DeviceId | null {
    return this.knownByAddress(address) ?? this.neighbourhood.holderOf(address);
  }

  /** The same of those on the LAN's cables. */
  neighbourWith(address: Address): Mac | null {
    return this.neighbourhood.holderOf(address);
  }

  /** The device that has the address, or had it last, of this link if one is given. */
  ownerOf(address: Address, link: string | null = null): DeviceId | null {
    return this.knownByAddress(address) ?? this.deviceAt(address, link);
  }

  /**
   * The device that sends from an address now. It may be one that is not kept, because there are so many or because it has so many
   * addresses: then the kernel knows it, as it has just sent it something.
   */
  senderAt(address: Address, link: string | null): DeviceId | null {
    const links = link === null ? this.lanLinks : [link];
    const inKernel = () => links.flatMap((each) => this.deps.host.macAt(address, each) ?? [])[0] ?? null;
    return this.ownerOf(address, link) ?? inKernel();
  }

  /** The same for addresses that no network behind another router has. */
  deviceAt(address: Address, link: string | null = null): Mac | null {
    return this.neighbourhood.ownerOf(address, link === null ? this.lanLinks : [link]);
  }

  /** Whether a network behind another router that people have declared has addresses of this one. */
  hasPrefixIn(prefix: Prefix): boolean {
    return this.networks.prefixes.some((each) => overlap(each, prefix));
  }

  /** Throws if other devices have addresses of the prefix. */
  refuseOverlap(prefix: Prefix): void {
    const { remote } = this.deps;
    if (remote.isKnown(prefix)) return;
    if (remote.overlaps(prefix))
      throw refused("prefix_of_remote", { prefix, command: "portcullis remote add <name>" });
    this.networks.refuseOverlap(prefix);
  }

  /** To be called when the interfaces of the LAN are first known, and when they change. */
  lanIs(lans: readonly Lan[], uplink: string | null): void {
    const before = this.lans;
    this.lans = lans;
    this.uplink = uplink;
    // The table is first read once its changes are watched.
    if (before !== null && !Bun.deepEquals(lans, before)) void this.look();
  }

  /** Whether it is known who is there: not if the kernel's neighbour table could not be read. */
  async isKnown(): Promise<boolean> {
    await this.table.lookFirst();
    return this.table.isKnown;
  }

  get lanPrefixes(): Prefix[] {
    return (this.lans ?? []).flatMap(({ mesh, prefixes }) => (mesh ? [] : prefixes));
  }

  get meshPrefixes(): Prefix[] {
    return this.meshes.flatMap(({ prefixes }) => prefixes);
  }

  /** Handles a change of the kernel's neighbour table; null if changes may have been missed. */
  saw(neighbour: Neighbour | null): void {
    this.table.saw(neighbour);
  }

  /** Reads the kernel's neighbour table, for changes that its events do not report. */
  look(): Promise<void> {
    return this.table.look();
  }

  /** The interfaces from which devices come. */
  get insides(): string[] {
    const { lans, remote, meshes } = this.links;
    return [...lans, ...(remote === null ? [] : [remote]), ...meshes.map((mesh) => mesh.interface)];
  }

  /** Where traffic is counted. */
  get links(): Links {
    const { remote } = this.deps;
    const remoteLink = remote.ids.length === 0 ? null : remote.link;
    const networks = this.networks.prefixes
      .filter((prefix) => !this.isInMesh(prefix))
      .toSorted((a, b) => lengthOf(b) - lengthOf(a));
    const meshes = this.meshes.map(({ interface: link, prefixes }) => ({ interface: link, prefixes }));
    return { lans: this.lanLinks, remote: remoteLink, meshes, uplink: this.uplink, networks };
  }

  /** The device that a counter counts for. */
  owners(): (of: Counted) => DeviceId | null {
    const macs = new Set(this.macs);
    const byMark = new Map([...macs].map((mac) => [markOfDevice(mac), mac]));
    return (of) => {
      if ("mac" in of) return macs.has(of.mac) ? of.mac : null;
      if ("mark" in of) return byMark.get(of.mark) ?? null;
      return "network" in of ? of.network : this.ownerOf(of.address);
    };
  }

  private get lanLinks(): string[] {
    return (this.lans ?? []).flatMap((lan) => (lan.mesh ? [] : [lan.interface]));
  }

  private get meshes(): Lan[] {
    return (this.lans ?? []).filter(({ mesh }) => mesh);
  }

  /** The devices that were heard last by a mesh, each by its address. */
  private get inMeshes(): Prefix[] {
    return this.meshPrefixes.flatMap((prefix) =>
      this.deps
        .heardIn(prefix)
        .slice(0, MAX_UNNAMED_DEVICES)
        .map(({ address }) => prefixOf(address)),
    );
  }

  /** Asked for each question to the resolver: it must not take a look at the whole policy. */
  private meshLinkOf(prefix: Prefix): string | null {
    const mesh = this.meshes.find(({ prefixes }) => prefixes.some((each) => isWithin(prefix, each)));
    return mesh?.interface ?? null;
  }

  private isInMesh(prefix: Prefix): boolean {
    return this.meshLinkOf(prefix) !== null;
  }

  /** The device that needs no MAC address: remote, behind another router, or of a mesh. */
  private knownByAddress(address: Address): Prefix | null {
    const network = this.deps.remote.of(address) ?? this.networks.of(address);
    return network ?? (this.isInMesh(prefixOf(address)) ? prefixOf(address) : null);
  }

  /** Whether somebody has decided something about it. */
  private isKept(mac: Mac): boolean {
    return isGiven(this.deps.decisions(), mac) || this.isNeeded(mac);
  }

  private remotePresence(id: Prefix): Presence {
    const { remote, host } = this.deps;
    const heardAt = remote.heard.get(id) ?? null;
    return {
      interface: remote.link,
      addresses: remote.addressesOf(id),
      heardAt,
      isOnline: heardAt !== null && host.monotonic() - heardAt < SILENT_MS,
    };
  }
}
