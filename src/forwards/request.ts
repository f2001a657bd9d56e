import type { Address } from "../base/address.ts";
import type { Protocol } from "./opener.ts";

/** What a device of the LAN asks for by itself. */
export interface PortRequest {
  /** From which it asks, and to which the port leads: no device asks for another. */
  address: Address;
  protocol: Protocol;
  /** The port on the device. */
  port: number;
  /** The external port that it would like; null for any. */
  external: number | null;
  lifetimeMs: number;
}

/** What a device no longer wants of what it has asked for; null means any. */
export interface PortRelease {
  address: Address;
  protocol: Protocol | null;
  port: number | null;
}

export interface GrantedPort {
  external: number;
  /** As asked for, or shorter. */
  lifetimeMs: number;
  /** The provider's public address; null if it is not known. */
  address: Address | null;
}
