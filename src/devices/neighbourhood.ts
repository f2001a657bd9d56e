import { type Address, isLinkLocal } from "../base/address.ts";
import type { Mac } from "../base/mac.ts";
import type { Neighbour } from "../network/neighbours.ts";

/** A device that does not answer for this long counts as offline, although the kernel may not have asked it. */
export const SILENT_MS = 300_000;

/**
 * Anyone on the LAN can invent MAC addresses, so only the latest of those that nobody has named or assigned are kept.
 */
export const MAX_UNNAMED_DEVICES = 512;

/** A device with IPv6 has some ten addresses; more may be invented. */
export const MAX_ADDRESSES = 16;

interface Device {
  interface: string;
  /** Key and address of each entry of the kernel that has or had its MAC address, the latest last. */
  entries: Map<string, { address: Address; isLost: boolean }>;
  /** A time of the monotonic clock; null before the first sign of life. */
  heardAt: number | null;
}

/** The facts about a device from its packets. */
export interface Presence {
  interface: string | null;
  /** Addresses without link-local ones. */
  addresses: readonly string[];
  heardAt: number | null;
  /** The interfaces on which its MAC address is now, if there are several. */
  links?: readonly string[];
  isOnline: boolean;
}

/** The devices on the LAN's cables by MAC address, as the kernel's neighbour table has them. */
export class Neighbourhood {
  /** The device that was heard last comes last. */
  private readonly devices = new Map<Mac, Device>();
  /** The MAC address of each entry, by its key. */
  private readonly owners = new Map<string, Mac>();
  /**
   * The devices that nobody had named or assigned when they were last heard. The one that was heard last comes last.
   */
  private readonly strangers = new Set<Mac>();

  constructor(
    private readonly monotonic: () => number,
    /** Whether a person has named or assigned it. Then it is not dropped. */
    private readonly isKept: (mac: Mac) => boolean,
  ) {}

  get macs(): Mac[] {
    return [...this.devices.keys()];
  }

  presence(mac: Mac): Presence | null {
    const device = this.devices.get(mac);
    if (device === undefined) return null;
    const all = [...device.entries.values()];
    const present = all.filter(({ isLost }) => !isLost);
    const shown = (present.length > 0 ? present : all).map(({ address }) => address);
    const { heardAt } = device;
    const links = linksOf(device.entries);
    return {
      interface: device.interface,
      addresses: shown.filter((address) => !isLinkLocal(address)).toSorted(byFamily),
      heardAt,
      ...(links.length > 1 && { links }),
      isOnline: present.length > 0 && heardAt !== null && this.monotonic() - heardAt < SILENT_MS,
    };
  }

  /** The interface by which a device was seen last; null if it was not. */
  linkOf(mac: Mac): string | null {
    return this.devices.get(mac)?.interface ?? null;
  }

  /** The device that has the address on one of these interfaces, or had it last. */
  ownerOf(address: Address, interfaces: readonly string[]): Mac | null {
    for (const name of interfaces) {
      const owner = this.owners.get(keyOf({ interface: name, address }));
      if (owner !== undefined) return owner;
    }
    return null;
  }

  /** The device that uses an address now; null for none, and for a link-local address that several interfaces have. */
  holderOf(address: Address): Mac | null {
    const entries = this.macs.flatMap((mac) =>
      [...(this.devices.get(mac)?.entries.values() ?? [])].map((entry) => ({ mac, ...entry })),
    );
    const holders = new Set(
      entries.filter((entry) => entry.address === address && !entry.isLost).map(({ mac }) => mac),
    );
    const [only = null] = holders;
    return holders.size === 1 ? only : null;
  }

  /** Handles one change of the table. Returns the MAC addresses of the devices that it concerns. */
  take(neighbour: Neighbour): Mac[] {
    const key = keyOf(neighbour);
    const owner = this.owners.get(key);
    if (neighbour.isLost || neighbour.mac === null) return this.lose(key);
    if (owner !== undefined && owner !== neighbour.mac) this.forgetEntry(owner, key);
    this.add(neighbour.mac, key, neighbour);
    return owner === undefined || owner === neighbour.mac ? [neighbour.mac] : [owner, neighbour.mac];
  }

  /** Takes over the whole table: entries that are not in it are lost. */
  takeAll(neighbours: readonly Neighbour[]): void {
    const present = new Set(neighbours.map(keyOf));
    for (const key of this.owners.keys()) if (!present.has(key)) this.lose(key);
    for (const neighbour of neighbours) this.take(neighbour);
    // A person may have taken back a name while the device was silent.
    for (const mac of this.macs) if (!this.strangers.has(mac) && !this.isKept(mac)) this.makeRoom(mac);
  }

  private add(mac: Mac, key: string, { address, heardMsAgo, isLate, interface: name }: Neighbour): void {
    const device = this.devices.get(mac) ?? { interface: name, entries: new Map(), heardAt: null };
    // Where a device was before, its entry grows old after it has been heard where it is now.
    const mayHaveMoved = isLate !== true || device.entries.get(key)?.isLost !== false;
    device.entries.delete(key);
    device.entries.set(key, { address, isLost: false });
    this.owners.set(key, mac);
    const [oldest = key] = device.entries.keys();
    if (device.entries.size > MAX_ADDRESSES) this.forgetEntry(mac, oldest);
    if (heardMsAgo !== null) {
      const heardAt = this.monotonic() - heardMsAgo;
      // Its address may be on two networks at once: it is on the one where it was seen last.
      if (mayHaveMoved && heardAt >= (device.heardAt ?? heardAt)) device.interface = name;
      device.heardAt = Math.max(device.heardAt ?? Number.NEGATIVE_INFINITY, heardAt);
      this.devices.delete(mac);
      this.strangers.delete(mac);
    }
    this.devices.set(mac, device);
    if (!this.isKept(mac)) this.makeRoom(mac);
  }

  private lose(key: string): Mac[] {
    const mac = this.owners.get(key);
    const entry = mac === undefined ? undefined : this.devices.get(mac)?.entries.get(key);
    if (mac === undefined || entry === undefined) return [];
    entry.isLost = true;
    return [mac];
  }

  private forgetEntry(mac: Mac, key: string): void {
    this.devices.get(mac)?.entries.delete(key);
    this.owners.delete(key);
  }

  /**
   * Drops the stranger that has been silent the longest if there are too many. The cost does not depend on their
   * number.
   */
  private makeRoom(mac: Mac): void {
    this.strangers.add(mac);
    while (this.strangers.size > MAX_UNNAMED_DEVICES) {
      const [oldest = mac] = this.strangers;
      this.strangers.delete(oldest);
      // It has been named since then.
      if (this.isKept(oldest)) continue;
      for (const key of this.devices.get(oldest)?.entries.keys() ?? []) this.owners.delete(key);
      this.devices.delete(oldest);
    }
  }
}

/** Where the kernel still knows it. */
function linksOf(entries: Device["entries"]): string[] {
  const present = [...entries].flatMap(([key, { isLost }]) => (isLost ? [] : (key.split(" ")[0] ?? [])));
  return [...new Set(present)].sort();
}

/** An address is unique only on its cable. */
function keyOf({ interface: name, address }: Pick<Neighbour, "interface" | "address">): string {
  return `${name} ${address}`;
}

function byFamily(one: string, other: string): number {
  return Number(one.includes(":")) - Number(other.includes(":"));
}
