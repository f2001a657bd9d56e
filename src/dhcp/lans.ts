import {
  type Address,
  addressOf,
  contains,
  familyOf,
  lengthOf,
  networkOf,
  overlap,
  type Prefix,
  parseAddress,
  parsePrefix,
} from "../base/address.ts";
import { CommandError, type GatewayError } from "../base/errors.ts";
import type { Settings } from "../base/settings.ts";
import type { HostNetwork } from "../network/host-network.ts";
import { ulaOn } from "../network/ula.ts";
import type { Host } from "../system/host.ts";
import { type AddressedLink, showAddressesOf, showRoutes } from "../system/ip.ts";
import type { ServedLan } from "./config.ts";

/** The facts about this machine that the DHCP server needs. */
export interface LanFacts {
  /** Its own IPv4 addresses, with their lengths. */
  addresses: readonly { interface: string; prefix: Prefix; isLeased: boolean }[];
  /** Routers that it uses. */
  routers: readonly Address[];
}

/** A range with fewer addresses is a typing error. */
const FEWEST = 4;
/** The range in a network of 256: people assign low addresses by hand, and routers often have the first or the last. */
const USUAL = { first: 100, last: 249 };
const USUAL_LENGTH = 24;

/** This only reads. */
export async function lanFactsOf(host: Pick<Host, "run">): Promise<LanFacts> {
  const [links, routes] = await Promise.all([showAddressesOf(host, 4), showRoutes(host, 4, "default")]);
  return {
    addresses: ipv4In(links),
    routers: routes.flatMap(({ gateway = "" }) => parseAddress(gateway) ?? []),
  };
}

export function ipv4In(links: readonly AddressedLink[]): LanFacts["addresses"] {
  return links.flatMap(({ ifname, addr_info }) =>
    addr_info.flatMap(({ local, prefixlen, dynamic }) => {
      const prefix = parsePrefix(`${local}/${prefixlen}`);
      return prefix === null || familyOf(addressOf(prefix)) === 6
        ? []
        : [{ interface: ifname, prefix, isLeased: dynamic === true }];
    }),
  );
}

/** The networks that the DHCP server serves, one for each LAN interface. Throws `GatewayError` that says what to do. */
export function servedLans(
  network: HostNetwork,
  facts: LanFacts,
  { dhcp, ula, lan: named }: Pick<Settings, "dhcp" | "ula" | "lan">,
): ServedLan[] {
  if (dhcp === null) return [];
  const ranges = dhcp.map(rangeIn);
  const absent = named.find((name) => network.lans.every((lan) => lan.interface !== name));
  if (ranges.length === 0 && absent !== undefined) throw withoutAddress(absent);
  const own = ownOnLan(network, facts);
  const chosen =
    ranges.length === 0
      ? own.map((one) => ({ ...one, range: defaultRange(one.prefix, facts) }))
      : ranges.map((range) => ({ ...placeOf(range, own), range }));
  for (const { interface: name, prefix, range } of chosen) {
    assertOwn(name, prefix, facts);
    assertUsable(range, prefix, facts);
  }
  const twice = chosen.find(
    ({ interface: name }, at) => chosen.findIndex((one) => one.interface === name) !== at,
  );
  if (twice !== undefined) throw refusal(`${twice.interface} has several ranges; give it one`);
  return chosen.map(({ interface: name, prefix, range }) => ({
    interface: name,
    prefix: networkOf(prefix),
    range,
    ula: ula === null || network.ipv6 !== "on" ? null : ulaOn(ula, name),
  }));
}

interface Own {
  interface: string;
  /** The gateway's address with its length. */
  prefix: Prefix;
}
type Range = ServedLan["range"];

/** The gateway's addresses on the LAN. The first address of each interface comes first. */
function ownOnLan({ lans }: HostNetwork, { addresses }: LanFacts): Own[] {
  const own = lans.map((lan) =>
    addresses.filter(
      ({ interface: name, prefix }) =>
        name === lan.interface && lan.prefixes.includes(networkOf(prefix)) && !prefix.startsWith("169.254."),
    ),
  );
  const without = lans.find((_, index) => own[index]?.length === 0);
  if (without !== undefined) throw withoutAddress(without.interface);
  return own.flatMap(([first]) => first ?? []).concat(own.flatMap(([, ...others]) => others));
}

function rangeIn(text: string): Range {
  const [from, to] = text.split("-").map((part) => parseAddress(part));
  if (from == null || to == null)
    throw refusal(`${text} is not a range; write it as 192.168.1.100-192.168.1.199`);
  if (numberOf(from) > numberOf(to)) throw refusal(`${text} is reversed: give the lower address first`);
  return { from, to };
}

function placeOf({ from, to }: Range, own: readonly Own[]): Own {
  const place = own.find(({ prefix }) => contains(prefix, from) && contains(prefix, to));
  if (place !== undefined) return place;
  const networks = own.map(({ interface: name, prefix }) => `${networkOf(prefix)} on ${name}`).join(", ");
  throw refusal(`${from}-${to} is outside the LAN; choose addresses from ${networks}`);
}

function assertOwn(name: string, prefix: Prefix, { addresses }: LanFacts): void {
  const leased = addresses.some((one) => one.interface === name && one.prefix === prefix && one.isLeased);
  if (leased) {
    throw new CommandError(
      "unable",
      `--dhcp: ${name} has ${addressOf(prefix)} from another DHCP server and would lose it when that is off; give ${name} a fixed address first, with the home router as its router`,
    );
  }
  const other = addresses.find((one) => one.interface !== name && overlap(one.prefix, prefix));
  if (other === undefined) return;
  throw new CommandError(
    "unable",
    `--dhcp: ${name} (${prefix}) and ${other.interface} (${other.prefix}) have addresses of one network; give one of them another network first`,
  );
}

function assertUsable({ from, to }: Range, prefix: Prefix, { routers }: LanFacts): void {
  const [first, last] = hostsOf(prefix);
  const text = `${from}-${to}`;
  if (numberOf(from) < first || numberOf(to) > last)
    throw refusal(
      `${text} contains the first or the last address of ${networkOf(prefix)}, which no device can have`,
    );
  if (numberOf(to) - numberOf(from) + 1 < FEWEST)
    throw refusal(`${text} is too small: give at least ${FEWEST} addresses`);
  const router = routers.find((each) => isWithin(numberOf(each), { from, to }));
  if (router !== undefined)
    throw refusal(`${text} contains the home router's address ${router}; choose a range without it`);
}

/** The longest part of the usual range in which neither the gateway nor a router has an address. */
function defaultRange(prefix: Prefix, { routers }: LanFacts): Range {
  const length = Math.max(lengthOf(prefix), USUAL_LENGTH);
  const start = numberOf(addressOf(networkOf(prefix, length)));
  const size = 2 ** (32 - length);
  const [first, last] =
    length === USUAL_LENGTH
      ? [start + USUAL.first, start + USUAL.last]
      : [start + size / 2, start + size - 2];
  const taken = [addressOf(prefix), ...routers]
    .map(numberOf)
    .filter((each) => each >= first && each <= last)
    .sort((a, b) => a - b);
  const ends = [first - 1, ...taken, last + 1];
  const runs = taken.concat(last + 1).map((end, index) => [(ends[index] ?? 0) + 1, end - 1] as const);
  const [from, to] = runs.reduce((best, run) => (run[1] - run[0] > best[1] - best[0] ? run : best));
  return { from: addressAt(from), to: addressAt(to) };
}

function hostsOf(prefix: Prefix): [first: number, last: number] {
  const start = numberOf(addressOf(networkOf(prefix)));
  return [start + 1, start + 2 ** (32 - lengthOf(prefix)) - 2];
}

function isWithin(address: number, { from, to }: Range): boolean {
  return address >= numberOf(from) && address <= numberOf(to);
}

function numberOf(address: Address): number {
  if (familyOf(address) === 6) throw refusal(`${address} is not an IPv4 address`);
  return address.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
}

function addressAt(number: number): Address {
  const bytes = [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256);
  return bytes.join(".") as Address;
}

function withoutAddress(name: string): GatewayError {
  return refusal(`${name} has no private IPv4 address; connect its cable, or give it a fixed address first`);
}

function refusal(what: string): GatewayError {
  return new CommandError("bad_request", `--dhcp: ${what}`);
}
