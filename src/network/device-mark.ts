import type { Prefix } from "../base/address.ts";
import type { Mac } from "../base/mac.ts";
import { jhashOf } from "./jhash.ts";

/**
 * A connection's mark (`ct mark`) is a hash of the MAC address that began it, so that what a device receives is known
 * whatever addresses it uses, also for a device that the service has not seen yet. 0 is no mark. To find another MAC address with the same hash gains no more than to copy the first.
 */
export const DEVICE_MARK_HASH = { modulus: 2 ** 32 - 3, seed: 1, offset: 2 } as const;

export function markOfDevice(mac: Mac): number {
  return DEVICE_MARK_HASH.offset + jhashOf(mac, DEVICE_MARK_HASH);
}

/** The same for a remote device, which has no MAC address: only limits set it. */
export function markOfRemote(id: Prefix): number {
  return DEVICE_MARK_HASH.offset + (Bun.hash.crc32(id) % DEVICE_MARK_HASH.modulus);
}
