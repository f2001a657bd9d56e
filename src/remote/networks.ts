import {
  type Address,
  addressFrom,
  addressOf,
  bytesOf,
  mustParsePrefix,
  type Prefix,
} from "../base/address.ts";
import { ulaOn } from "../network/ula.ts";

/** The networks of the remote devices. */
export interface Networks {
  ipv4: Prefix;
  ipv6: Prefix;
}

/** This many tries find a free network unless nearly all are taken. */
const TRIES = 200;
/** Homes and providers rarely use the upper half of 10.0.0.0/8. */
const FIRST_OCTET = 128;
/**
 * The subnet of the installation's unique local prefix: no interface has this name. Every phone's address comes from
 * these words, so they stay as they are.
 */
const SUBNET = "devices on the road";
/** The gateway has the first address of each network. */
const GATEWAY = 1;
/** The numbers of devices: no address ends in 0 or 255. */
const [FIRST, LAST] = [2, 254];

/** Networks of which nothing else has an address; null if none was found. */
export function chosenNetworks(ula: string, isFree: (prefix: Prefix) => boolean): Networks | null {
  const ipv6 = mustParsePrefix(`${addressOf(ulaOn(ula, SUBNET)).replace(/::1$/, "::")}/64`);
  for (let tries = 0; tries < TRIES; tries += 1) {
    const [second = 0, third = 0] = crypto.getRandomValues(new Uint8Array(2));
    const ipv4 = mustParsePrefix(`10.${FIRST_OCTET + (second % FIRST_OCTET)}.${third}.0/24`);
    if (isFree(ipv4) && isFree(ipv6)) return { ipv4, ipv6 };
  }
  return null;
}

/** The gateway's own addresses. */
export function gatewayIn(networks: Networks): Address[] {
  return addressesIn(networks, GATEWAY);
}

/** The addresses of the device with this number, IPv4 first. */
export function addressesIn({ ipv4, ipv6 }: Networks, number: number): Address[] {
  return [hostIn(ipv4, number), hostIn(ipv6, number)];
}

/** The number of the device with this address. */
export function numberOf(address: Address): number {
  return Number(address.split(".").at(-1));
}

/** A number that no device has: after the latest one, so that an address is not given to another device soon. */
export function freeNumber(
  taken: readonly number[],
  isFree: (number: number) => boolean = () => true,
): number | null {
  const latest = taken.at(-1) ?? FIRST - 1;
  const all = Array.from({ length: LAST - FIRST + 1 }, (_, at) => FIRST + at);
  const sorted = [...all.filter((each) => each > latest), ...all];
  return sorted.find((each) => !taken.includes(each) && isFree(each)) ?? null;
}

function hostIn(network: Prefix, number: number): Address {
  const bytes = bytesOf(addressOf(network));
  bytes[bytes.length - 1] = number;
  return addressFrom(bytes);
}
