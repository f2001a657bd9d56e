import { type Address, parseAddress } from "../base/address.ts";

/** The zones of reverse names, and how many labels an address has there (RFC 1035, section 3.5; RFC 3596, section 2.5). */
const ZONES = [
  { zone: ".in-addr.arpa", labels: 4 },
  { zone: ".ip6.arpa", labels: 32 },
] as const;

/** The address that a reverse name in lower case stands for, or that it is below; null if it is none of a whole address. */
export function reversedIn(name: string): Address | null {
  for (const { zone, labels } of ZONES) {
    if (!name.endsWith(zone)) continue;
    const parts = name.slice(0, -zone.length).split(".").slice(-labels).reverse();
    if (parts.length < labels) return null;
    return parseAddress(labels === 4 ? parts.join(".") : groupsOf(parts));
  }
  return null;
}

function groupsOf(nibbles: readonly string[]): string {
  if (nibbles.some((nibble) => !/^[0-9a-f]$/.test(nibble))) return "";
  return (nibbles.join("").match(/.{4}/g) ?? []).join(":");
}
