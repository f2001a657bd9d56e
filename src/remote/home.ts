import { addressOf, isLinkLocal, type Prefix } from "../base/address.ts";
import type { Lan } from "../network/lan.ts";

/** What remote devices find at home: the LAN's prefixes. */
export function homePrefixes(lans: readonly Lan[]): Prefix[] {
  const prefixes = lans.flatMap((lan) => lan.prefixes);
  return [...new Set(prefixes)].filter((prefix) => !isLinkLocal(addressOf(prefix)));
}
