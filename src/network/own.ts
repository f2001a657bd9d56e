import { type Address, addressOf, contains, familyOf, isLinkLocal, type Prefix } from "../base/address.ts";
import type { HostNetwork } from "./host-network.ts";

/** The facts about the gateway that a client of the LAN needs. */
export interface OwnNetwork {
  lan: { interface: string; addresses: Address[]; prefixes: Prefix[] }[];
  uplink: string | null;
  online: boolean;
}

/** What stands in a URL of the gateway for devices of the LAN; null if it has no address there. `listens` is where it listens. */
export function ownHostIn(network: HostNetwork, listens: string): string | null {
  const own = ownNetworkIn(network).lan.flatMap(({ addresses }) => addresses);
  const address = own.find((each) => each === listens) ?? own[0];
  if (address === undefined) return null;
  return address.includes(":") ? `[${address}]` : address;
}

/** The gateway's own addresses on the LAN, IPv4 first. */
export function ownNetworkIn({ lans, addresses, uplink, online }: HostNetwork): OwnNetwork {
  const sorted = addresses.toSorted((one, other) => familyOf(one) - familyOf(other));
  const lan = lans.map((each) => {
    const prefixes = each.prefixes.filter((prefix) => !isLinkLocal(addressOf(prefix)));
    const own = sorted.filter((address) => prefixes.some((prefix) => contains(prefix, address)));
    return { interface: each.interface, addresses: own, prefixes };
  });
  return { lan, uplink, online };
}
