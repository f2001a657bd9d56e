import { type Address, parseAddress } from "../base/address.ts";
import { chainsListed, elementsOf } from "./listing.ts";
import { NO_ADDRESS, namedSet } from "./named-sets.ts";
import type { Destination } from "./policy.ts";

/** The addresses that a listing of the table has for the names of each of these destinations. */
export function namedListed(
  listing: string,
  destinations: readonly Pick<Destination, "devices" | "exit">[],
): Address[][] {
  const chains = chainsListed(listing);
  return destinations.map((destination) =>
    ([4, 6] as const)
      .flatMap((family) => elementsOf(namedSet(destination, family), chains))
      .flatMap((element) => parseAddress(element) ?? [])
      .filter((address) => !Object.values(NO_ADDRESS).includes(address)),
  );
}
