import { type Address, contains, mustParsePrefix, parseAddress, unmapped } from "../base/address.ts";
import { parseDomainName } from "../base/domain-name.ts";
import { type Meaning, NOT_UNDERSTOOD } from "./list-entry.ts";

/** The form of most lists, recognised first so that a million lines are read quickly. */
const NOWHERE: ReadonlySet<string> = new Set(["0.0.0.0", "127.0.0.1", "::", "::1", "0"]);
const LOOPBACK = mustParsePrefix("127.0.0.0/8");
/** Names that a hosts file has for the machine itself. */
const OWN_NAME =
  /^(localhost|localhost\.localdomain|localhost[46]?\.localdomain[46]|local|broadcasthost)$|^ip6-/;

/** Whether this address answers nothing. */
export function isNowhere(text: string): boolean {
  if (NOWHERE.has(text)) return true;
  const address = addressIn(text);
  const own = address && unmapped(address);
  return own !== null && (NOWHERE.has(own) || contains(LOOPBACK, own));
}

/** A line of /etc/hosts (hosts(5)): an address and its names. Undefined if it does not begin with an address. */
export function hostsLine(text: string): Meaning | undefined {
  const [address = "", ...given] = text.split("#", 1)[0]?.trim().split(/\s+/) ?? [];
  if (!NOWHERE.has(address) && addressIn(address) === null) return undefined;
  const names = given.filter((name) => !OWN_NAME.test(name) && name !== address);
  if (names.length === 0) return given.length === 0 ? NOT_UNDERSTOOD : null;
  if (!isNowhere(address)) return NOT_UNDERSTOOD;
  const known = names.flatMap((name) => (name.includes(".") ? (parseDomainName(name) ?? []) : []));
  return known.map((name) => ({ verdict: "block", name }));
}

/** With or without the zone of a link. */
function addressIn(text: string): Address | null {
  return /^[0-9a-f.:]+(%|$)/.test(text) ? parseAddress(text.replace(/%.*/, "")) : null;
}
