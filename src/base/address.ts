import { isIPv4, isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";

declare const KIND: unique symbol;
/** Text that only the parsers below make, so it is valid and canonical. */
type Parsed<Kind> = string & { readonly [KIND]: Kind };

type Ipv4 = Parsed<"IPv4">;
type Ipv6 = Parsed<"IPv6">;
/** The form in which the kernel's tools print it; IPv6 according to RFC 5952, without a zone. */
export type Address = Ipv4 | Ipv6;
/** CIDR: an address, which may have host bits, and a length. */
export type Prefix = Parsed<"prefix">;
/** In lower case if `parseHostName` made it. */
export type HostName = Parsed<"host name">;

/** Where a WireGuard server receives packets. */
export interface Endpoint {
  address: Address;
  port: number;
}

/** Four plain decimal octets, which is the only form of an IPv4 address that is accepted. */
export function isIpv4(text: string): text is Ipv4 {
  return text.length <= MAX_ADDRESS && isIPv4(text);
}

/** Any text form of RFC 4291, without a zone. */
export function isIpv6(text: string): boolean {
  return text.length <= MAX_ADDRESS && isIPv6(text) && !text.includes("%");
}

/** Eight groups of which the last two are an IPv4 address (INET6_ADDRSTRLEN, without its NUL). */
const MAX_ADDRESS = 45;

export function familyOf(value: Address | Prefix): 4 | 6 {
  return value.includes(":") ? 6 : 4;
}

/** Null if the text is not an address. */
export function parseAddress(text: string): Address | null {
  if (isIpv4(text) || isMapped(text)) return text;
  if (!isIpv6(text)) return null;
  const address = ipaddr.IPv6.parse(withoutDots(text));
  // RFC 5952 section 5: mixed notation if the prefix says that it contains an IPv4 address.
  const canonical = address.isIPv4MappedAddress()
    ? `::ffff:${address.toIPv4Address()}`
    : address.toRFC5952String();
  return canonical as Ipv6;
}

/** A CIDR with its host bits kept. A bare address is a prefix of its own. Null if the text is neither. */
export function parsePrefix(text: string): Prefix | null {
  const slash = text.indexOf("/");
  const address = parseAddress(slash < 0 ? text : text.slice(0, slash));
  if (address === null) return null;
  if (slash < 0) return prefixOf(address);
  const digits = text.slice(slash + 1);
  if (!/^(0|[1-9][0-9]{0,2})$/.test(digits) || Number(digits) > longestFor(address)) return null;
  return withLength(address, Number(digits));
}

/** Whether it is a prefix as `parsePrefix` writes it. */
export function isPrefix(text: string): text is Prefix {
  return parsePrefix(text) === text;
}

/** Used for constants. Throws if the text is not an address. */
export function mustParseAddress(text: string): Address {
  return parseAddress(text) ?? refuse(text);
}

/** Used for constants. Throws if the text is not a prefix. */
export function mustParsePrefix(text: string): Prefix {
  return parsePrefix(text) ?? refuse(text);
}

/** In the order of the network: four bytes, or sixteen. */
export function bytesOf(address: Address): Uint8Array {
  return Uint8Array.from(parsed(address).toByteArray());
}

/** The address of four bytes, or of sixteen, in the order of the network. */
export function addressFrom(bytes: Uint8Array): Address {
  return mustParseAddress(bytes.length === 4 ? bytes.join(".") : bytes.toHex().replace(/....(?!$)/g, "$&:"));
}

/** The prefix of a single address. */
export function prefixOf(address: Address): Prefix {
  return withLength(address, longestFor(address));
}

/** The address of a prefix, with its host bits. */
export function addressOf(prefix: Prefix): Address {
  return prefix.slice(0, prefix.indexOf("/")) as Address;
}

export function lengthOf(prefix: Prefix): number {
  return Number(prefix.slice(prefix.indexOf("/") + 1));
}

/** The network of this length that the prefix's address is in: host bits are cleared. */
export function networkOf(prefix: Prefix, length = lengthOf(prefix)): Prefix {
  const bytes = parsed(addressOf(prefix)).toByteArray();
  const network = bytes.map((byte, index) => byte & (0xff00 >> Math.min(8, bitsInByte(length, index))));
  if (network.every((byte, index) => byte === bytes[index])) return withLength(addressOf(prefix), length);
  return mustParsePrefix(`${ipaddr.fromByteArray(network)}/${length}`);
}

/** Whether all addresses of `inner` are in `outer`. */
export function isWithin(inner: Prefix, outer: Prefix): boolean {
  return lengthOf(inner) >= lengthOf(outer) && contains(outer, addressOf(inner));
}

/** Whether some address is in both; host bits do not count. */
export function overlap(one: Prefix, other: Prefix): boolean {
  return contains(one, addressOf(other)) || contains(other, addressOf(one));
}

/** Whether the address lies in the prefix; `::ffff:a.b.c.d` counts as `a.b.c.d`. */
export function contains(prefix: Prefix, address: Address): boolean {
  const plain = unmapped(address);
  // Parsing takes much longer.
  if (familyOf(plain) !== familyOf(prefix)) return false;
  if (familyOf(plain) === 6) return parsed(plain).match(parsed(addressOf(prefix)), lengthOf(prefix));
  const size = 2 ** (32 - lengthOf(prefix));
  return Math.floor(numberOf(plain) / size) === Math.floor(numberOf(addressOf(prefix)) / size);
}

/** An IPv4 address as a number: answers of resolvers have many, and each is compared with a dozen prefixes. */
export function numberOf(ipv4: Address): number {
  return ipv4.split(".").reduce((number, octet) => number * 256 + Number(octet), 0);
}

const MAX_LATEST = 256;
const latest = new Map<Address, ipaddr.IPv4 | ipaddr.IPv6>();

/** The same addresses are compared again and again: parsing one takes longer than all else here. */
function parsed(address: Address): ipaddr.IPv4 | ipaddr.IPv6 {
  const known = latest.get(address);
  if (known !== undefined) return known;
  if (latest.size >= MAX_LATEST) latest.clear();
  const made = ipaddr.parse(address);
  latest.set(address, made);
  return made;
}

/** Whether one host can have the address: it is not unspecified, loopback, multicast or broadcast. */
export function isHostAddress(address: Address): boolean {
  return !NO_HOSTS.some((block) => contains(block, address));
}

/**
 * Whether anyone on the internet can send to the address. The prefixes for documentation (RFC 5737, RFC 3849) count:
 * the sandbox's internet has them.
 */
export function isPublic(address: Address): boolean {
  if (familyOf(unmapped(address)) === 6) return contains(GLOBAL_UNICAST, address);
  return (
    isHostAddress(address) && !isPrivate(address) && !NOT_PUBLIC.some((block) => contains(block, address))
  );
}

/** RFC 1918, RFC 4193 and link-local: the addresses of a LAN. */
export function isPrivate(address: Address): boolean {
  return privateBlockOf(address) !== null;
}

/** Whether packets to the address stay with this machine and its neighbours: it is private or loopback. */
export function isLocal(address: Address | null): boolean {
  return address !== null && (isPrivate(address) || isLoopback(address));
}

export function isLoopback(address: Address): boolean {
  return LOOPBACK.some((block) => contains(block, address));
}

/** Whether all of the prefix is private. */
export function isPrivatePrefix(prefix: Prefix): boolean {
  const block = privateBlockOf(addressOf(prefix));
  return block !== null && lengthOf(prefix) >= lengthOf(block);
}

/** IPv6 link-local (RFC 4291, section 2.5.6): an address is unique only within its link. */
export function isLinkLocal(address: Address): boolean {
  return /^fe[89ab][0-9a-f]:/.test(address);
}

/** The block of private address space that the address lies in; null if it is public. */
export function privateBlockOf(address: Address): Prefix | null {
  return PRIVATE.find((block) => contains(block, address)) ?? null;
}

/** `::ffff:a.b.c.d` as `a.b.c.d`, which is how a dual-stack socket names an IPv4 peer; other addresses unchanged. */
export function unmapped(address: Address): Address {
  const ipv4 = address.slice(MAPPED.length);
  return address.startsWith(MAPPED) && isIpv4(ipv4) ? ipv4 : address;
}

const MAPPED = "::ffff:";

/** Whether it is the canonical text of such an address: a quick answer for the many that a dual-stack socket names. */
function isMapped(text: string): text is Ipv6 {
  return text.startsWith(MAPPED) && isIpv4(text.slice(MAPPED.length));
}

/**
 * A DNS host name: ASCII letters, digits and hyphens (RFC 1123). A last label that is a number, decimal or
 * hexadecimal, is refused: resolvers would parse such a name as an IPv4 address (WHATWG URL, "ends in a number").
 */
export function isHostName(text: string): text is HostName {
  if (text.length > 253) return false;
  const labels = text.split(".");
  return labels.every((label) => LABEL.test(label)) && !/^([0-9]+|0x[0-9a-f]*)$/i.test(labels.at(-1) ?? "");
}

/** The name in lower case, or null if the text is not one. */
export function parseHostName(text: string): HostName | null {
  return isHostName(text) ? (text.toLowerCase() as HostName) : null;
}

/** The last four bytes in hexadecimal: ipaddr.js would read `::192.0.2.1` as `::ffff:192.0.2.1`. */
function withoutDots(ipv6: string): string {
  return ipv6.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...octets: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = octets.slice(0, 4).map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
}

const LABEL = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

function longestFor(address: Address): 32 | 128 {
  return familyOf(address) === 4 ? 32 : 128;
}

function withLength(address: Address, length: number): Prefix {
  return `${address}/${length}` as Prefix;
}

function bitsInByte(length: number, index: number): number {
  return Math.max(0, length - 8 * index);
}

function refuse(text: string): never {
  throw new Error(`"${text}" is not an address or prefix`);
}

/** RFC 6890: "this network", loopback, multicast, limited broadcast. */
const NO_HOSTS: readonly Prefix[] = [
  "0.0.0.0/8",
  "127.0.0.0/8",
  "224.0.0.0/4",
  "255.255.255.255/32",
  "::/127",
  "ff00::/8",
].map(mustParsePrefix);

const LOOPBACK: readonly Prefix[] = ["127.0.0.0/8", "::1/128"].map(mustParsePrefix);

/**
 * RFC 6890, beside those that are private or no host's: a provider's own (RFC 6598, behind carrier-grade NAT), protocol
 * assignments, benchmarks, class E.
 */
const NOT_PUBLIC: readonly Prefix[] = ["100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4"].map(
  mustParsePrefix,
);

/** RFC 4291, section 2.4, as far as IANA has assigned it. */
const GLOBAL_UNICAST = mustParsePrefix("2000::/3");

const PRIVATE: readonly Prefix[] = [
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "169.254.0.0/16",
  "fc00::/7",
  "fe80::/10",
].map(mustParsePrefix);
