import type { Address } from "../base/address.ts";
import type { DeviceId } from "../devices/id.ts";
import { namedListed } from "../killswitch/named-listed.ts";
import { ownersOf } from "../killswitch/named-sets.ts";
import type { Destination } from "../killswitch/policy.ts";
import type { Rule } from "./rules.ts";

/** For as long as the shortest time that devices keep an address. */
const LOST_MS = 3_600_000;

/**
 * Addresses that the kernel leads to an exit for a name that is no longer known. They are refused to their devices
 * until one of them asks again: without a rule they would take another exit.
 */
export class LostAddresses {
  /** By their devices, as the kernel's sets have these. */
  private readonly byOwners = new Map<string, { devices: readonly DeviceId[]; addresses: Set<Address> }>();
  private until = 0;

  constructor(private readonly monotonic: () => number) {}

  /** To be called with the table that another service has loaded, and the addresses that are known. */
  find(listing: string, known: ReadonlySet<Address>, rules: readonly Rule[]): void {
    const devicesOf = new Map(rules.map(({ devices }) => [ownersOf(devices), devices]));
    for (const { owners, addresses } of namedListed(listing)) {
      const lost = addresses.filter((address) => !known.has(address));
      // The devices of rules that are gone are unknown, too: then nobody gets there.
      const devices = devicesOf.get(owners) ?? [];
      if (lost.length > 0) this.add(devices, lost);
    }
    this.until = this.monotonic() + LOST_MS;
  }

  /** The rules that refuse them. A name that has one of them takes precedence. */
  get refused(): Destination[] {
    return [...this.byOwners.values()].map(({ devices, addresses }) => ({
      ...{ prefixes: [], devices, exit: { to: "blocked" } as const },
      named: [{ labels: 0, addresses: [...addresses] }],
    }));
  }

  /** To be called when these devices have asked for a name that has the addresses. */
  asked(devices: readonly DeviceId[], addresses: readonly Address[]): void {
    const lost = this.byOwners.get(ownersOf(devices))?.addresses;
    for (const address of addresses) lost?.delete(address);
  }

  /** Whether it is refused to all devices (null), or to this one. */
  has(address: Address, device: DeviceId | null): boolean {
    return [...this.byOwners.values()].some(
      ({ devices, addresses }) =>
        addresses.has(address) && (device === null ? devices.length === 0 : devices.includes(device)),
    );
  }

  /** Forgets them when their time is over. Whether there were any. */
  expire(): boolean {
    if (this.byOwners.size === 0 || this.monotonic() < this.until) return false;
    this.byOwners.clear();
    return true;
  }

  private add(devices: readonly DeviceId[], addresses: readonly Address[]): void {
    const owners = ownersOf(devices);
    const known = this.byOwners.get(owners) ?? { devices, addresses: new Set() };
    for (const address of addresses) known.addresses.add(address);
    this.byOwners.set(owners, known);
  }
}
