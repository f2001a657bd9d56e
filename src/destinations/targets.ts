import {
  addressOf,
  contains,
  type HostName,
  mustParsePrefix,
  networkOf,
  type Prefix,
  parsePrefix,
} from "../base/address.ts";
import { parseDomainName } from "../base/domain-name.ts";
import { GatewayError } from "../base/errors.ts";
import { isInHomeZone } from "../base/home-zone.ts";

/** A name of a rule, as a person gives it; throws if there can be no rule for it. */
export function nameIn(text: string): HostName {
  const name = parseDomainName(text);
  if (name !== null && isInHomeZone(name))
    throw refusal(`names: ${name} is a name of the home, which no exit leads to`);
  if (name !== null) return name;
  throw refusal(`names: ${JSON.stringify(text)} is not a name, such as example.com`);
}

/** The same for a network. */
export function prefixIn(text: string): Prefix {
  const prefix = parsePrefix(text);
  if (prefix === null)
    throw refusal(
      `prefixes: ${JSON.stringify(text)} is not an address or a network, such as 203.0.113.0/24 or 2001:db8::/32`,
    );
  const network = networkOf(prefix);
  if (network !== prefix) throw refusal(`prefixes: ${prefix} has host bits; the network is ${network}`);
  const special = SPECIAL.find(
    (each) => contains(each, addressOf(prefix)) || contains(prefix, addressOf(each)),
  );
  if (special !== undefined)
    throw refusal(
      `prefixes: ${prefix} has addresses that never leave the LAN, such as those of groups or of the machine itself`,
    );
  return prefix;
}

/** RFC 6890: this network, loopback, link-local, multicast and reserved. */
const SPECIAL = [
  ...["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3"],
  ...["::/127", "::ffff:0:0/96", "fe80::/10", "ff00::/8"],
].map(mustParsePrefix);

export function noteIn(text: string): string {
  if (/\p{Cc}/u.test(text)) throw refusal("note: contains a control character");
  return text;
}

export function refusal(message: string): GatewayError {
  return new GatewayError("bad_request", message);
}
