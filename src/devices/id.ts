import {
  addressOf,
  contains,
  familyOf,
  isLinkLocal,
  lengthOf,
  networkOf,
  type Prefix,
  parsePrefix,
  privateBlockOf,
} from "../address.ts";
import { GatewayError } from "../errors.ts";
import { type Mac, parseMac } from "../mac.ts";

/** A device's MAC address; for what is behind another router, a private prefix without host bits. */
export type DeviceId = Mac | Prefix;

/** Throws if the text is neither. */
export function deviceIdIn(text: string): DeviceId {
  return parseMac(text) ?? routedPrefixIn(text);
}

/** Whether the text is an id as `deviceIdIn` writes it. */
export function isDeviceId(text: string): text is DeviceId {
  try {
    return deviceIdIn(text) === text;
  } catch {
    return false;
  }
}

export function isPrefixId(id: DeviceId): id is Prefix {
  return id.includes("/");
}

/** Whether two prefixes have an address in common: then one contains the other. */
export function overlap(one: Prefix, other: Prefix): boolean {
  return contains(one, addressOf(other)) || contains(other, addressOf(one));
}

function routedPrefixIn(text: string): Prefix {
  const prefix = parsePrefix(text);
  if (prefix === null) throw refused("must be a MAC address or, for devices behind another router, a prefix");
  const address = addressOf(prefix);
  const block = privateBlockOf(address);
  // 169.254.0.0/16 and fe80::/10 are not routed (RFC 3927, section 2.7; RFC 4291, section 2.5.6).
  const isRouted = !isLinkLocal(address) && !address.startsWith("169.254.");
  // `::ffff:10.0.0.1` is no address of a host.
  if (block === null || familyOf(block) !== familyOf(prefix) || !isRouted)
    throw refused("is not an address of a private network");
  if (lengthOf(prefix) < lengthOf(block)) throw refused(`reaches beyond the private network ${block}`);
  return networkOf(prefix);
}

function refused(why: string): GatewayError {
  return new GatewayError("bad_request", `id: ${why}`);
}
