import { isIPv4, isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";

/** A CIDR prefix; `address` may have host bits. */
export interface Prefix {
  /** Canonical text. */
  address: string;
  length: number;
  family: 4 | 6;
}

/** Four plain decimal octets. */
export function isIpv4(text: string): boolean {
  return text.length <= LONGEST_ADDRESS && isIPv4(text);
}

/** Any text form of RFC 4291, without a zone. */
export function isIpv6(text: string): boolean {
  return text.length <= LONGEST_ADDRESS && isIPv6(text) && !text.includes("%");
}

/** Eight groups of which the last two are an IPv4 address (INET6_ADDRSTRLEN, without its NUL). */
const LONGEST_ADDRESS = 45;

/** The family of an address or a prefix that is known to be valid. */
export function familyOf(text: string): 4 | 6 {
  return text.includes(":") ? 6 : 4;
}

/** The canonical text of an address (RFC 5952, as the kernel's tools print it), or null. */
export function parseIp(text: string): string | null {
  if (isIpv4(text)) return text;
  if (!isIpv6(text)) return null;
  const address = ipaddr.IPv6.parse(withoutDots(text));
  // RFC 5952 section 5: mixed notation if the prefix says that it contains an IPv4 address.
  return address.isIPv4MappedAddress() ? `::ffff:${address.toIPv4Address()}` : address.toRFC5952String();
}

/** A CIDR with its host bits kept; a bare address is the prefix of itself alone. Null if the text is neither. */
export function parsePrefix(text: string): Prefix | null {
  const slash = text.indexOf("/");
  const address = parseIp(slash < 0 ? text : text.slice(0, slash));
  if (address === null) return null;
  const family = isIpv4(address) ? 4 : 6;
  const longest = family === 4 ? 32 : 128;
  const digits = slash < 0 ? String(longest) : text.slice(slash + 1);
  if (!/^(0|[1-9][0-9]{0,2})$/.test(digits) || Number(digits) > longest) return null;
  return { address, length: Number(digits), family };
}

export function formatPrefix(prefix: Prefix): string {
  return `${prefix.address}/${prefix.length}`;
}

/** The prefix with its host bits cleared. */
export function networkOf(prefix: Prefix): Prefix {
  const bytes = ipaddr.parse(prefix.address).toByteArray();
  const network = bytes.map(
    (byte, index) => byte & (0xff00 >> Math.min(8, bitsInByte(prefix.length, index))),
  );
  return { ...prefix, address: parseIp(ipaddr.fromByteArray(network).toString()) ?? prefix.address };
}

/** Whether the address lies in the prefix; `::ffff:a.b.c.d` counts as `a.b.c.d`. */
export function contains(prefix: Prefix, ip: string): boolean {
  const address = parseIp(ip);
  if (address === null) return false;
  const plain = ipaddr.parse(unmapped(address));
  const range = ipaddr.parse(prefix.address);
  return plain.kind() === range.kind() && plain.match(range, prefix.length);
}

/** Whether one host can have the address: it is not unspecified, loopback, multicast or broadcast. */
export function isHostAddress(ip: string): boolean {
  return !NO_HOSTS.some((block) => contains(block, ip));
}

/** RFC 1918, RFC 4193 and link-local: the addresses of a LAN. */
export function isPrivate(ip: string): boolean {
  return privateBlockOf(ip) !== null;
}

/** IPv6 link-local (RFC 4291, section 2.5.6): an address is unique only within its link. */
export function isLinkLocal(ip: string): boolean {
  return /^fe[89ab][0-9a-f]:/i.test(ip);
}

/** The block of private address space that the address lies in; null if it is public. */
export function privateBlockOf(ip: string): Prefix | null {
  return PRIVATE.find((block) => contains(block, ip)) ?? null;
}

/** `::ffff:a.b.c.d` as `a.b.c.d`, which is how a dual-stack socket names an IPv4 peer; other addresses unchanged. */
export function unmapped(ip: string): string {
  // The kernel's spelling, which is all that most callers have.
  const [, ipv4 = ""] = /^::ffff:([0-9.]+)$/.exec(ip) ?? [];
  if (isIpv4(ipv4)) return ipv4;
  return parseIp(ip)?.match(/^::ffff:([0-9.]+)$/)?.[1] ?? ip;
}

/**
 * A DNS host name: ASCII letters, digits and hyphens (RFC 1123). A last label that is a number, decimal or
 * hexadecimal, is refused: resolvers would parse such a name as an IPv4 address (WHATWG URL, "ends in a number").
 */
export function isHostName(text: string): boolean {
  if (text.length > 253) return false;
  const labels = text.split(".");
  return labels.every((label) => LABEL.test(label)) && !/^([0-9]+|0x[0-9a-f]*)$/i.test(labels.at(-1) ?? "");
}

/** The last four bytes in hexadecimal: ipaddr.js would read `::192.0.2.1` as `::ffff:192.0.2.1`. */
function withoutDots(ipv6: string): string {
  return ipv6.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...octets: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = octets.slice(0, 4).map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
}

const LABEL = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/** RFC 6890: "this network", loopback, multicast, limited broadcast. */
const NO_HOSTS: readonly Prefix[] = [
  { address: "0.0.0.0", length: 8, family: 4 },
  { address: "127.0.0.0", length: 8, family: 4 },
  { address: "224.0.0.0", length: 4, family: 4 },
  { address: "255.255.255.255", length: 32, family: 4 },
  { address: "::", length: 127, family: 6 },
  { address: "ff00::", length: 8, family: 6 },
];

const PRIVATE: readonly Prefix[] = [
  { address: "10.0.0.0", length: 8, family: 4 },
  { address: "172.16.0.0", length: 12, family: 4 },
  { address: "192.168.0.0", length: 16, family: 4 },
  { address: "169.254.0.0", length: 16, family: 4 },
  { address: "fc00::", length: 7, family: 6 },
  { address: "fe80::", length: 10, family: 6 },
];

function bitsInByte(length: number, index: number): number {
  return Math.max(0, length - 8 * index);
}
