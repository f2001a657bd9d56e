import type { Address, Prefix } from "../base/address.ts";
import type { Mac } from "../base/mac.ts";
import { PrefixTable } from "../base/prefix-table.ts";
import { isBlockedExit } from "../shared/exits.ts";
import { groupsIn } from "./named-sets.ts";
import type { Destination, Exit, Policy } from "./policy.ts";

/** It is called for each of the kernel's connections. */
const known = new WeakMap<readonly Destination[], DestinationExits>();

/** A device and its exit. */
export interface Sender {
  id: Mac | Prefix;
  exit: Exit;
}

/**
 * The exit that a destination has of its own, by the same precedence as in the firewall; null if it has none. The sender
 * is null if it is not known which device it is. The answer is undefined if it depends on that.
 */
export function destinationExit(
  { destinations }: Pick<Policy, "destinations">,
  destination: Address,
  sender: Sender | null,
): Exit | null | undefined {
  if (destinations === undefined) return null;
  const exits = known.get(destinations) ?? new DestinationExits(destinations);
  known.set(destinations, exits);
  return exits.find(destination, sender);
}

/** What one device, or all of them, have by rules. */
interface Ways {
  /** By addresses that names have now. */
  named: Map<Address, Exit>;
  prefixes: Map<Prefix, Exit>;
}

type Owner = Mac | Prefix | null;

class DestinationExits {
  /** By device; under null those of all devices. */
  private readonly finders: ReadonlyMap<Owner, (address: Address) => Exit | undefined>;

  constructor(destinations: readonly Destination[]) {
    const found = new Map<Owner, Ways>();
    const waysOf = (devices: Destination["devices"]) =>
      (devices.length === 0 ? [null] : devices).map((device) => {
        const ways = found.get(device) ?? { named: new Map<Address, Exit>(), prefixes: new Map() };
        found.set(device, ways);
        return ways;
      });
    for (const { prefixes, devices, exit } of destinations)
      for (const ways of waysOf(devices)) for (const prefix of prefixes) ways.prefixes.set(prefix, exit);
    // The first one counts, as in the firewall.
    for (const { addresses, devices, exit } of groupsIn(destinations))
      for (const { named } of waysOf(devices))
        for (const address of addresses) if (!named.has(address)) named.set(address, exit);
    this.finders = new Map([...found].map(([device, ways]) => [device, finderIn(ways)]));
  }

  find(destination: Address, sender: Sender | null): Exit | null | undefined {
    const exitFor = (owner: Owner) => this.finders.get(owner)?.(destination);
    if (sender !== null) {
      const all = isBlockedExit(sender.exit) ? null : exitFor(null);
      return exitFor(sender.id) ?? all ?? null;
    }
    const isForSome = [...this.finders.keys()].some(
      (owner) => owner !== null && exitFor(owner) !== undefined,
    );
    return isForSome ? undefined : (exitFor(null) ?? null);
  }
}

function finderIn({ named, prefixes }: Ways): (address: Address) => Exit | undefined {
  const table = new PrefixTable(prefixes);
  return (address) => named.get(address) ?? table.find(address)?.value;
}
