import type { Address, Prefix } from "../base/address.ts";

/** What the list of devices knows of those away from home. Their ids are prefixes of a single address. */
export interface RemotePresence {
  /** The interface from which their packets come. */
  link: string;
  ids: readonly Prefix[];
  /** Whether it is one of them, whether it may come in now or not. */
  isKnown(id: string): boolean;
  /** The device with this address, or null. */
  of(address: Address): Prefix | null;
  addressesOf(id: Prefix): Address[];
  /** Whether a network has addresses of theirs. */
  overlaps(prefix: Prefix): boolean;
  /** When each was heard, on the monotone clock. */
  heard: ReadonlyMap<Prefix, number>;
  /** Reads who was heard now. */
  look(): Promise<void>;
  /** Calls back after each such reading, whoever wanted it. */
  onHeard(listener: () => void): void;
}

export const NOBODY: RemotePresence = {
  link: "",
  ids: [],
  isKnown: () => false,
  of: () => null,
  addressesOf: () => [],
  overlaps: () => false,
  heard: new Map(),
  look: async () => {},
  onHeard: () => {},
};
