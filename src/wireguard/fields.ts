import {
  type Address,
  addressOf,
  type HostName,
  isHostAddress,
  isIpv4,
  isIpv6,
  networkOf,
  type Prefix,
  parseAddress,
  parseHostName,
  parsePrefix,
} from "../base/address.ts";
import { GatewayError } from "../base/errors.ts";
import { isKey } from "./key-text.ts";
import type { Config } from "./schema.ts";

/** A value without white space at its ends, and where it was given: `line 7: Endpoint` or `endpoint`. */
export interface Field {
  text: string;
  where: string;
}

/** `[`, 253 characters of a DNS name (RFC 1035), `]:`, five digits: 260 is enough for every endpoint. */
const MAX_ENDPOINT = 260;

/** Makes a field of a value, without the white space at its ends. */
export function fieldOf(text: string, where: string): Field {
  return { text: trimmed(text), where };
}

/** Messages never quote the value: it may be a key in the wrong place. */
export function refuse(where: string, what: string): never {
  throw new GatewayError("bad_request", `${where}: ${what}`);
}

export function keyIn({ text, where }: Field): string {
  if (!isKey(text)) refuse(where, "must be a WireGuard key: 44 characters of base64, and not all zero");
  return text;
}

export function endpointIn({ text, where }: Field): Config["peer"]["endpoint"] {
  if (text.length > MAX_ENDPOINT) refuse(where, `is longer than ${MAX_ENDPOINT} characters`);
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*)):([^:]*)$/.exec(text) ?? [];
  if (port === undefined) refuse(where, "must be host:port, or [address]:port for IPv6");
  const host = bracketed === undefined ? hostIn(plain ?? "", where) : ipv6In(bracketed, where);
  return { host, port: portIn({ text: port, where }) };
}

/** The entries of a list. */
export function entriesIn({ text, where }: Field): Field[] {
  const entries = text.split(",").map((entry) => fieldOf(entry, where));
  if (entries.some((entry) => entry.text === ""))
    refuse(where, entries.length === 1 ? "is empty" : "has an empty item");
  return entries;
}

/** One of the interface's own addresses, host bits kept. */
export function addressIn(entry: Field): Prefix {
  const prefix = prefixIn(entry);
  if (!isHostAddress(addressOf(prefix)))
    refuse(entry.where, "must be addresses that a host can have: no loopback, multicast or broadcast ones");
  return prefix;
}

/** A prefix that may use the tunnel, host bits cleared as WireGuard does. */
export function allowedIpIn(entry: Field): Prefix {
  return networkOf(prefixIn(entry));
}

/** A resolver, as its canonical address, or a search domain, in lower case. */
export function dnsIn({ text, where }: Field): Address | HostName {
  const entry = parseAddress(text) ?? parseHostName(text);
  return entry ?? refuse(where, "must be IP addresses and search domains, separated by commas");
}

/** Every IPv4 host must accept 576 bytes (RFC 791). */
export function mtuIn(field: Field): number {
  return numberIn(field, "the MTU", 576, 65535);
}

export function keepaliveIn(field: Field): number {
  if (/^off$/i.test(field.text)) return 0;
  return numberIn(field, "the interval", 0, 65535);
}

export function portIn(field: Field): number {
  return numberIn(field, "the port", 1, 65535);
}

/**
 * Removes spaces and tabs only; `trim` would also remove other Unicode white space and the byte order mark. A loop,
 * because a pattern that ends in `[ \t]+$` takes quadratic time for blanks that are followed by something else.
 */
export function trimmed(text: string): string {
  let [start, end] = [0, text.length];
  while (isBlank(text[start])) start++;
  while (end > start && isBlank(text[end - 1])) end--;
  return text.slice(start, end);
}

function isBlank(character: string | undefined): boolean {
  return character === " " || character === "\t";
}

export function numberIn({ text, where }: Field, what: string, least: number, most: number): number {
  const number = /^(0|[1-9][0-9]{0,9})$/.test(text) ? Number(text) : Number.NaN;
  if (!(number >= least && number <= most)) {
    refuse(where, `${what} must be a number from ${least} to ${most}, in plain digits`);
  }
  return number;
}

function prefixIn({ text, where }: Field): Prefix {
  const prefix = parsePrefix(text);
  if (prefix === null)
    refuse(where, "must be addresses in CIDR form (10.0.0.2/32, fd00::2/128), separated by commas");
  return prefix;
}

function hostIn(host: string, where: string): string {
  const known = isIpv4(host) ? host : parseHostName(host);
  return known ?? refuse(where, "the host must be an IPv4 address, [an IPv6 address] or a DNS name");
}

function ipv6In(host: string, where: string): string {
  const address = isIpv6(host) ? parseAddress(host) : null;
  return address ?? refuse(where, "brackets may only contain an IPv6 address without a zone");
}
