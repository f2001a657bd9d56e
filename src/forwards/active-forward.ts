import { parseMac } from "../base/mac.ts";
import { PROTOCOLS } from "./opener.ts";
import type { PortLease } from "./port-lease.ts";
import { refused } from "./refusals.ts";
import type { ForwardId, SavedForward } from "./saved.ts";
import type { Forward } from "./schema.ts";

/** One port of a device, and the lease that keeps it open. */
export interface ActiveForward extends SavedForward {
  /** Null if a person asked for it; otherwise until when the device wants it. */
  until: Expiry | null;
  /** The external port that the device would like, or that was open before; null for any. */
  preferred: number | null;
  keeper: PortLease;
  /** The row that was last published. */
  told: Forward | null;
}

/** A moment on the monotonic clock, and the same as ISO 8601. */
export interface Expiry {
  at: number;
  date: string;
}

/** The fields that a client has given. */
export interface GivenId {
  device: string;
  protocol: string;
  port: number;
}

export function idIn({ device, protocol, port }: GivenId): ForwardId {
  const mac = parseMac(device);
  const known = PROTOCOLS.find((each) => each === protocol);
  if (mac === null) throw refused("device_not_single");
  if (known === undefined) throw refused("protocol_unknown");
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw refused("port_invalid");
  return { device: mac, protocol: known, port };
}
