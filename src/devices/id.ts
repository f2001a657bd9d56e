import { contains, formatPrefix, isLinkLocal, networkOf, parsePrefix, privateBlockOf } from "../address.ts";
import { GatewayError } from "../errors.ts";
import { parseMac } from "../mac.ts";

/**
 * The one spelling of a device's id: a MAC address in lower case, or for what is behind another router a private prefix
 * with its host bits cleared. Throws if the text is neither.
 */
export function deviceIdIn(text: string): string {
  return parseMac(text) ?? routedPrefixIn(text);
}

/** Whether the text is an id in its one spelling. */
export function isDeviceId(text: string): boolean {
  try {
    return deviceIdIn(text) === text;
  } catch {
    return false;
  }
}

export function isPrefixId(id: string): boolean {
  return id.includes("/");
}

/** Whether two prefixes have an address in common: one contains the other. */
export function overlap(one: string, other: string): boolean {
  const [a, b] = [parsePrefix(one), parsePrefix(other)];
  if (a === null || b === null) return false;
  return contains(a, b.address) || contains(b, a.address);
}

function routedPrefixIn(text: string): string {
  const prefix = parsePrefix(text);
  if (prefix === null) throw refused("must be a MAC address or, for devices behind another router, a prefix");
  const block = privateBlockOf(prefix.address);
  // 169.254.0.0/16 and fe80::/10 are not routed (RFC 3927, section 2.7; RFC 4291, section 2.5.6).
  const isRouted = !isLinkLocal(prefix.address) && block?.address !== "169.254.0.0";
  // `::ffff:10.0.0.1` is no address of a host.
  if (block === null || block.family !== prefix.family || !isRouted)
    throw refused("is not an address of a private network");
  if (prefix.length < block.length)
    throw refused(`reaches beyond the private network ${formatPrefix(block)}`);
  return formatPrefix(networkOf(prefix));
}

function refused(why: string): GatewayError {
  return new GatewayError("bad_request", `id: ${why}`);
}
