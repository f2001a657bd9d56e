import { type Address, parseAddress } from "../base/address.ts";
import { chainsListed, elementsOf } from "./listing.ts";
import { NO_ADDRESS } from "./named-sets.ts";

/** What a listing of the table has in one of the sets of names. */
interface NamedListed {
  /** The devices, as `ownersOf` has them. */
  owners: string;
  /** A tunnel's name, `blocked` or `direct`. */
  exit: string;
  addresses: Address[];
}

const NAME = /^set (named_([0-9a-f]{12}|all)_(\S+?)(?:_\d+)?_ipv[46])$/;

/** The addresses that a listing of the table has for names. */
export function namedListed(listing: string): NamedListed[] {
  const chains = chainsListed(listing);
  return [...chains.keys()].flatMap((key) => {
    const [, set, owners = "", exit = ""] = NAME.exec(key) ?? [];
    if (set === undefined) return [];
    const addresses = elementsOf(set, chains).flatMap((element) => parseAddress(element) ?? []);
    const none = Object.values(NO_ADDRESS);
    return [{ owners, exit, addresses: addresses.filter((address) => !none.includes(address)) }];
  });
}
