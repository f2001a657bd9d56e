import type { Address } from "../base/address.ts";
import type { Protocol } from "./opener.ts";

/** A request of a device of the LAN. */
export interface PortRequest {
  /** The address that it asks from, and to which the port leads. No device asks for another. */
  address: Address;
  protocol: Protocol;
  /** The port on the device. */
  port: number;
  /** The external port that it would like; null for any. */
  external: number | null;
  lifetimeMs: number;
}

/** The ports that a device no longer wants of those that it has asked for; null means any. */
export interface PortRelease {
  address: Address;
  protocol: Protocol | null;
  port: number | null;
}

export interface GrantedPort {
  external: number;
  /** The lifetime as requested, or shorter. */
  lifetimeMs: number;
  /** The provider's public address; null if it is not known. */
  address: Address | null;
}
