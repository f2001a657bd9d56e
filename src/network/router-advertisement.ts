import { type Address, addressFrom, isLinkLocal } from "../base/address.ts";
import { checksumOf, HEADER_BYTES, HOP_LIMIT, ICMPV6, icmpv6Packet } from "./icmpv6.ts";

/** The advertisement of an IPv6 router to the devices of its link. */
export interface RouterAdvertisement {
  /** The router's link-local address. */
  router: Address;
  /** How long devices use it as a way to the internet, in seconds; 0 if they should not, or no longer. */
  lifetime: number;
  /** Resolvers that devices should use. */
  resolvers: Address[];
}

/** RFC 4861, sections 4.1 and 4.2; RFC 4191, section 2.3; RFC 8106, section 5.1. */
const [SOLICITATION, ADVERTISEMENT, FIXED_BYTES] = [133, 134, 16];
const OPTION = { route: 24, resolvers: 25 };
const [UNSPECIFIED, ALL_ROUTERS] = ["::", "ff02::2"];

/** Devices use only three. */
const MAX_RESOLVERS = 4;

/** Where router solicitations go (RFC 2464, section 7). */
export const ALL_ROUTERS_MAC = "33:33:00:00:00:02";

/** Sent without a source address, so that the answer goes to all hosts of the link (RFC 4861, section 6.2.6). */
export function routerSolicitation(): Uint8Array {
  return icmpv6Packet(UNSPECIFIED, ALL_ROUTERS, Uint8Array.from([SOLICITATION, 0, 0, 0, 0, 0, 0, 0]));
}

/** Null if the packet is not a valid advertisement, which devices ignore (RFC 4861, section 6.1.2). */
export function routerAdvertisementIn(packet: Uint8Array): RouterAdvertisement | null {
  const view = Buffer.from(packet.buffer, packet.byteOffset, packet.byteLength);
  if (view.length < HEADER_BYTES + FIXED_BYTES || view[6] !== ICMPV6 || view[7] !== HOP_LIMIT) return null;
  const length = view.readUInt16BE(4);
  const message = view.subarray(HEADER_BYTES, HEADER_BYTES + length);
  const router = addressFrom(view.subarray(8, 24));
  if (length < FIXED_BYTES || message.length < length || !isLinkLocal(router)) return null;
  if (message[0] !== ADVERTISEMENT || message[1] !== 0) return null;
  if (checksumOf(view.subarray(8, HEADER_BYTES), message) !== 0) return null;
  const options = optionsIn(message.subarray(FIXED_BYTES));
  if (options === null) return null;
  return {
    router,
    lifetime: Math.max(message.readUInt16BE(6), ...options.map(routeLifetimeOf)),
    resolvers: resolversIn(options.find(([type]) => type === OPTION.resolvers)),
  };
}

/** Null if an option has no length, or the last one is cut off: then devices ignore all of them. */
function optionsIn(bytes: Buffer): Buffer[] | null {
  const options: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = 8 * (bytes[at + 1] ?? 0);
    if (length === 0 || at + length > bytes.length) return null;
    options.push(bytes.subarray(at, at + length));
    at += length;
  }
  return options;
}

/** A route that leads to the internet. Routes of Thread and other networks at home lead to private addresses. */
function routeLifetimeOf(option: Buffer): number {
  if (option[0] !== OPTION.route || option.length > 24) return 0;
  const length = option[2] ?? 0;
  const [first = 0, second = 0] = option.subarray(8);
  const isUniqueLocal = length >= 7 && (first & 0xfe) === 0xfc;
  const isLinkLocalOrMulticast =
    (length >= 10 && first === 0xfe && (second & 0xc0) === 0x80) || (length >= 8 && first === 0xff);
  if (length > 128 || length > 8 * (option.length - 8) || isUniqueLocal || isLinkLocalOrMulticast) return 0;
  return option.readUInt32BE(4);
}

function resolversIn(option: Buffer = Buffer.alloc(0)): Address[] {
  if (option.length < 24 || option.readUInt32BE(4) === 0) return [];
  const all: Address[] = [];
  for (let at = 8; at + 16 <= option.length && all.length < MAX_RESOLVERS; at += 16)
    all.push(addressFrom(option.subarray(at, at + 16)));
  return all;
}
