import type { Address, Prefix } from "../base/address.ts";
import type { Mac } from "../base/mac.ts";

/** The addresses that names with so many labels have. */
export interface Named {
  labels: number;
  addresses: readonly Address[];
}

/** Destinations with an exit of their own, which comes before that of the device. */
export interface DestinationTo<Exit> {
  /** Without host bits. */
  prefixes: readonly Prefix[];
  /**
   * The addresses of the rule's names, once for each number of labels that these have, even while they have none; missing
   * if there are no names. They come before the prefixes.
   */
  named?: readonly Named[];
  /**
   * The devices that the exit is for: MAC addresses, prefixes of networks behind routers, and those of devices away
   * from home. Empty if it is for all.
   */
  devices: readonly (Mac | Prefix)[];
  exit: Exit;
}
