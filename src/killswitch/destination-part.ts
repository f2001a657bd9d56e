import type { Address, Prefix } from "../base/address.ts";
import type { Mac } from "../base/mac.ts";

/** Destinations with an exit of their own, which comes before that of the device. */
export interface DestinationTo<Exit> {
  /** Without host bits. */
  prefixes: readonly Prefix[];
  /**
   * Those that names of the rule have now, each in one rule at most of those for the same devices; missing if it has no
   * names. They come before the prefixes.
   */
  addresses?: readonly Address[];
  /**
   * The devices that the exit is for: MAC addresses, prefixes of networks behind routers, and those of devices on the
   * road. Empty if it is for all.
   */
  devices: readonly (Mac | Prefix)[];
  exit: Exit;
}
