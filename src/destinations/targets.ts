import {
  type HostName,
  mustParsePrefix,
  networkOf,
  overlap,
  type Prefix,
  parsePrefix,
} from "../base/address.ts";
import { parseDomainName } from "../base/domain-name.ts";
import { isInHomeZone } from "../base/home-zone.ts";
import { refused } from "./refusals.ts";

/** A name of a rule, as a person gives it; throws if there can be no rule for it. */
export function nameIn(text: string): HostName {
  const name = parseDomainName(text);
  if (name !== null && isInHomeZone(name)) throw refused("name_of_home", { name });
  if (name !== null) return name;
  throw refused("name_invalid", { name: JSON.stringify(text) });
}

/** The same for a network. */
export function prefixIn(text: string): Prefix {
  const prefix = parsePrefix(text);
  if (prefix === null) throw refused("prefix_invalid", { prefix: JSON.stringify(text) });
  const network = networkOf(prefix);
  if (network !== prefix) throw refused("prefix_with_host_bits", { field: "prefixes", prefix, network });
  const special = SPECIAL.find((each) => overlap(each, prefix));
  if (special !== undefined) throw refused("prefix_special", { prefix });
  return prefix;
}

/** RFC 6890: this network, loopback, link-local, multicast and reserved. */
const SPECIAL = [
  ...["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3"],
  ...["::/127", "::ffff:0:0/96", "fe80::/10", "ff00::/8"],
].map(mustParsePrefix);

export function noteIn(text: string): string {
  if (/\p{Cc}/u.test(text)) throw refused("note_invalid");
  return text;
}
