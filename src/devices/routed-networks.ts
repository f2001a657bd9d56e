import { type Address, contains, lengthOf, type Prefix } from "../base/address.ts";
import type { Host } from "../system/host.ts";
import { type DeviceId, isPrefixId } from "./id.ts";
import { MAX_ADDRESSES, type Presence, SILENT_MS } from "./neighbourhood.ts";
import { refused } from "./refusals.ts";

interface Deps {
  host: Pick<Host, "monotonic">;
  /** The assignments of all devices about which something was decided. */
  decided: () => readonly DeviceId[];
  /**
   * The place of a network behind another router: the interfaces that lead to it, and other owners of its addresses.
   */
  wayTo: (prefix: Prefix) => { interfaces: readonly string[]; overlap: string | null };
  /** The addresses of a network that have sent something, the latest first. */
  heardIn: (prefix: Prefix) => readonly { address: Address; heardAt: number }[];
}

/** The networks behind other routers of the LAN that people have declared. Each of them is one device. */
export class RoutedNetworks {
  constructor(private readonly deps: Deps) {}

  get prefixes(): Prefix[] {
    return this.deps.decided().filter(isPrefixId);
  }

  /** The most specific network that the address is in. */
  of(address: Address): Prefix | null {
    const [prefix = null] = this.prefixes
      .filter((each) => contains(each, address))
      .sort((a, b) => lengthOf(b) - lengthOf(a));
    return prefix;
  }

  /** A network is online if the address that was heard last is. */
  presence(prefix: Prefix, [name] = this.deps.wayTo(prefix).interfaces): Presence {
    const heard = this.deps.heardIn(prefix);
    const heardAt = heard[0]?.heardAt ?? null;
    const isRecent = heardAt !== null && this.deps.host.monotonic() - heardAt < SILENT_MS;
    return {
      interface: name ?? null,
      addresses: heard.slice(0, MAX_ADDRESSES).map(({ address }) => address),
      heardAt,
      isOnline: name !== undefined && isRecent,
    };
  }

  /** Throws if another owner has addresses of the prefix. */
  refuseOverlap(prefix: Prefix): void {
    const { overlap } = this.deps.wayTo(prefix);
    if (overlap !== null) throw refused("prefix_overlaps", { prefix, overlap });
  }
}
