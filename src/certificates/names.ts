import { type Address, familyOf, isHostName, parseAddress } from "../base/address.ts";
import { NAMES_AT_HOME } from "../base/home-zone.ts";
import type { HostNetwork } from "../network/host-network.ts";
import { ownNetworkIn } from "../network/own.ts";

/** What a browser may call the gateway. */
export interface GatewayNames {
  names: readonly string[];
  addresses: readonly Address[];
}

const LOOPBACK = ["127.0.0.1", "::1"] as Address[];

/**
 * The machine's own name and those that the operator has set, each also as `<name>.local`, those that its resolver gives
 * it, and its addresses on the LAN.
 */
export function gatewayNames(own: string, others: readonly string[], network: HostNetwork): GatewayNames {
  const called = [own, ...others].map((each) => each.toLowerCase()).filter(isHostName);
  const names = called.flatMap((each) => (each.endsWith(".local") ? [each] : [each, `${each}.local`]));
  const lan = ownNetworkIn(network).lan.flatMap(({ addresses }) => addresses);
  return {
    names: [...new Set([...names, ...NAMES_AT_HOME, "localhost"])],
    addresses: [...new Set([...lan, ...LOOPBACK])],
  };
}

/**
 * Whether a certificate for `names` is for all of these too. Addresses of IPv6 may be missing: the kernel makes new
 * temporary ones each day (RFC 8981), and browsers ask their user about each new certificate.
 */
export function areCovered({ names, addresses }: GatewayNames, by: readonly string[]): boolean {
  const known = new Set(by.map((each) => parseAddress(each) ?? each.toLowerCase()));
  return [...names, ...addresses.filter((each) => familyOf(each) === 4)].every((each) => known.has(each));
}
