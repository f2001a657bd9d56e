import type { Prefix } from "../base/address.ts";
import type { Mac } from "../base/mac.ts";

/** Destinations with an exit of their own, which comes before that of the device. */
export interface DestinationTo<Exit> {
  /** Without host bits. */
  prefixes: readonly Prefix[];
  /**
   * The devices that the exit is for: MAC addresses, prefixes of networks behind routers, and those of devices on the
   * road. Empty if it is for all.
   */
  devices: readonly (Mac | Prefix)[];
  exit: Exit;
}
