import type { Address, Prefix } from "../base/address.ts";
import type { Mac } from "../base/mac.ts";
import { PrefixTable } from "../base/prefix-table.ts";
import type { Destination, Exit, Policy } from "./policy.ts";

/** A look at the kernel's connections asks for each of them. */
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

class DestinationExits {
  /** By device; under null those of all devices. */
  private readonly tables: ReadonlyMap<Mac | Prefix | null, PrefixTable<Exit>>;

  constructor(destinations: readonly Destination[]) {
    const found = new Map<Mac | Prefix | null, Map<Prefix, Exit>>();
    for (const { prefixes, devices, exit } of destinations)
      for (const device of devices.length === 0 ? [null] : devices)
        for (const prefix of prefixes) {
          const exits = found.get(device) ?? new Map<Prefix, Exit>();
          found.set(device, exits.set(prefix, exit));
        }
    this.tables = new Map([...found].map(([device, exits]) => [device, new PrefixTable(exits)]));
  }

  find(destination: Address, sender: Sender | null): Exit | null | undefined {
    const exitFor = (owner: Mac | Prefix | null) => this.tables.get(owner)?.find(destination)?.value;
    if (sender !== null) {
      const all = sender.exit.to === "blocked" ? null : exitFor(null);
      return exitFor(sender.id) ?? all ?? null;
    }
    const isForSome = [...this.tables.keys()].some((owner) => owner !== null && exitFor(owner) !== undefined);
    return isForSome ? undefined : (exitFor(null) ?? null);
  }
}
