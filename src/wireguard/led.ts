import { type Address, familyOf, lengthOf, networkOf, type Prefix, prefixOf } from "../base/address.ts";
import type { Config } from "./schema.ts";

/**
 * What is led into the tunnel: AllowedIPs, and the configuration's own resolvers. Some providers leave private networks
 * out of AllowedIPs, and with them the resolver; then everything would connect, and no name be found.
 */
export function ledPrefixes(config: Config): Prefix[] {
  const { allowedIps } = config.peer;
  const outside = resolversOutside(config);
  return outside.length === 0 ? allowedIps : [...allowedIps, ...outside.map(prefixOf)];
}

/** The resolvers that AllowedIPs leave out, of the families that the tunnel carries. */
export function resolversOutside({ interface: { addresses, dns }, peer }: Config): Address[] {
  const families = new Set(addresses.map(familyOf));
  const allowed = new Set(dns.length === 0 ? [] : peer.allowedIps);
  // Of a thousand prefixes, few differ in length, so they are looked up and not searched.
  const lengths = { 4: new Set<number>(), 6: new Set<number>() };
  for (const prefix of allowed) lengths[familyOf(prefix)].add(lengthOf(prefix));
  const isAllowed = (address: Address) =>
    [...lengths[familyOf(address)]].some((length) => allowed.has(networkOf(prefixOf(address), length)));
  return dns.filter((address) => families.has(familyOf(address)) && !isAllowed(address));
}
