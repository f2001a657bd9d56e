import {
  type Address,
  familyOf,
  isHostAddress,
  isPrivate,
  networkOf,
  type Prefix,
  prefixOf,
} from "../base/address.ts";
import type { HostNetwork } from "../network/host-network.ts";

type Network = Pick<HostNetwork, "addresses" | "routers">;

/** Of an IPv6 network (RFC 4291, section 2.5.1). */
const NETWORK_BITS = 64;
/** Each answer needs them. */
const known = new WeakMap<Network, Prefix[]>();

/**
 * The addresses of the gateway and of its routers that are not private, such as a provider's (RFC 6598) or public ones;
 * over IPv6 the whole networks that these are in.
 */
export function publicHomeOf(network: Network): Prefix[] {
  const before = known.get(network);
  if (before !== undefined) return before;
  const found = [
    ...new Set(
      [...network.addresses, ...network.routers]
        .filter((address) => isHostAddress(address) && !isPrivate(address))
        .map(homeAt),
    ),
  ];
  known.set(network, found);
  return found;
}

function homeAt(address: Address): Prefix {
  const own = prefixOf(address);
  return familyOf(address) === 6 ? networkOf(own, NETWORK_BITS) : own;
}
