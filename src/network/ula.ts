import { createHash } from "node:crypto";
import {
  addressFrom,
  addressOf,
  bytesOf,
  contains,
  mustParsePrefix,
  networkOf,
  type Prefix,
  parseAddress,
  parsePrefix,
} from "../base/address.ts";
import type { Settings } from "../base/settings.ts";
import type { Host } from "../system/host.ts";
import { showAddresses } from "../system/ip.ts";
import type { HostNetwork } from "./host-network.ts";
import type { Lan } from "./lan.ts";

/** A unique local prefix (RFC 4193, section 3.2.1): 40 random bits. */
export function randomUla(): string {
  const random = crypto.getRandomValues(new Uint8Array(5));
  return mustParsePrefix(`${addressFrom(Uint8Array.from([0xfd, ...random, ...Array(10).fill(0)]))}/48`);
}

/**
 * The gateway's address on an interface of the LAN, with its length. The subnet is a hash of the interface's name, so
 * that each keeps its own when others come and go.
 */
export function ulaOn(ula: string, name: string): Prefix {
  const bytes = bytesOf(addressOf(mustParsePrefix(ula)));
  bytes.set(createHash("sha256").update(name).digest().subarray(0, 2), 6);
  bytes[15] = 1;
  return mustParsePrefix(`${addressFrom(bytes)}/64`);
}

/** An address with its length that the gateway has given to a link. */
export interface OwnUla {
  interface: string;
  prefix: Prefix;
}

/**
 * The addresses that the gateway has given to links of this machine, with the present unique local prefix or an earlier
 * one. An address of another program has the hash of its link's name once in 65,536 times.
 */
export async function ulasOf(host: Pick<Host, "run">): Promise<OwnUla[]> {
  return (await showAddresses(host)).flatMap(({ ifname, addr_info }) =>
    addr_info
      .flatMap(({ local, prefixlen }) => parsePrefix(`${local}/${prefixlen}`) ?? [])
      .filter(
        (prefix) =>
          contains(UNIQUE_LOCAL, addressOf(prefix)) &&
          prefix === ulaOn(networkOf(prefix, ULA_LENGTH), ifname),
      )
      .map((prefix) => ({ interface: ifname, prefix })),
  );
}

/** Prefixes that are made at random (RFC 4193, section 3.1). */
const UNIQUE_LOCAL = mustParsePrefix("fd00::/8");
const ULA_LENGTH = 48;

/**
 * Gives the gateway its missing addresses on the LAN's interfaces that it serves; returns whether there were any. A
 * network manager may remove addresses that are not its own, and without them no router is advertised.
 */
export async function keepUla(
  host: Pick<Host, "run">,
  { lans, addresses, ipv6 }: Pick<HostNetwork, "lans" | "addresses" | "ipv6">,
  { dhcp, ula }: Pick<Settings, "dhcp" | "ula">,
): Promise<boolean> {
  if (ula === null || ipv6 !== "on") return false;
  const missing = servedAmong(lans, { dhcp })
    .map((lan) => ({ link: lan.interface, address: ulaOn(ula, lan.interface) }))
    .filter(({ address }) => !addresses.includes(addressOf(address)));
  for (const { link, address } of missing)
    await host.run(["ip", "-6", "address", "replace", address, "dev", link, "nodad"]);
  return missing.length > 0;
}

/** The LAN's interfaces on which the gateway serves DHCP. */
export function servedAmong<Served extends Lan>(
  lans: readonly Served[],
  { dhcp }: Pick<Settings, "dhcp">,
): readonly Served[] {
  if (dhcp === null || dhcp.length === 0) return dhcp === null ? [] : lans;
  const starts = dhcp.flatMap((range) => parseAddress(range.split("-")[0] ?? "") ?? []);
  return lans.filter(({ prefixes }) =>
    starts.some((start) => prefixes.some((each) => contains(each, start))),
  );
}
