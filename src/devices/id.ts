import { networkOf, type Prefix, parsePrefix } from "../base/address.ts";
import { INTERFACE_NAME } from "../base/interface-name.ts";
import { type Mac, parseMac } from "../base/mac.ts";
import { isPrivateWhole } from "../network/lan-routes.ts";
import { isShared } from "../network/mesh.ts";
import { linkIn, type NetworkId, networkIdOf } from "../shared/network-id.ts";
import { refused } from "./refusals.ts";

/**
 * What identifies a device: its MAC address, or the prefix of what is behind another router of the LAN. A device that
 * comes by a mesh is its address.
 */
export type DeviceId = Mac | Prefix;

/** All devices without a limit, or without a quota, of their own, which share one. */
export const EVERYBODY_ELSE = "others";
/** Who can have a limit or a quota. */
export type LimitId = DeviceId | typeof EVERYBODY_ELSE | NetworkId;

/** Null if the text is neither. A single address is a prefix of its own. */
export function parseDeviceId(text: string): DeviceId | null {
  const mac = parseMac(text);
  if (mac !== null) return mac;
  const prefix = parsePrefix(text);
  return prefix === null || networkOf(prefix) !== prefix || !isInside(prefix) ? null : prefix;
}

/** Whether it can be behind another router, or in a mesh. */
function isInside(prefix: Prefix): boolean {
  return isPrivateWhole(prefix) || isShared(prefix);
}

/** The id that a client has given, in this field. */
export function deviceIdIn(text: string, field = "id"): DeviceId {
  const id = parseDeviceId(text);
  if (id !== null) return id;
  const prefix = parsePrefix(text);
  if (prefix === null) throw refused("device_invalid", { field });
  const network = networkOf(prefix);
  throw network === prefix
    ? refused("prefix_public", { field })
    : refused("prefix_with_host_bits", { field, prefix, network });
}

/** Whether it can be a remote device: those have one address of 10.0.0.0/8. */
export function isRemoteId(id: string): boolean {
  return /^10(\.\d+){3}\/32$/.test(id);
}

/** Null for what can have neither limit nor quota: a network behind another router. */
export function parseLimitId(text: string): LimitId | null {
  if (text === EVERYBODY_ELSE) return text;
  const link = linkIn(text);
  if (link !== null) return INTERFACE_NAME.test(link) ? networkIdOf(link) : null;
  const id = parseDeviceId(text);
  return id === text && (!isPrefixId(id) || isRemoteId(id)) ? id : null;
}

/** Not all others, and no network of the LAN. */
export function isDeviceId(id: LimitId): id is DeviceId {
  return id !== EVERYBODY_ELSE && linkIn(id) === null;
}

export function isPrefixId(id: DeviceId): id is Prefix {
  return id.includes("/");
}
