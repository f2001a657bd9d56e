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
import { isKey } from "./key-text.ts";
import { refused } from "./refusals.ts";
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

export function keyIn({ text, where }: Field): string {
  if (!isKey(text)) throw refused("wireguard_key_invalid", { field: where });
  return text;
}

export function endpointIn({ text, where }: Field): Config["peer"]["endpoint"] {
  if (text.length > MAX_ENDPOINT) throw refused("config_too_long", { field: where, max: MAX_ENDPOINT });
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*)):([^:]*)$/.exec(text) ?? [];
  if (port === undefined) throw refused("wireguard_endpoint_invalid", { field: where });
  const host = bracketed === undefined ? hostIn(plain ?? "", where) : ipv6In(bracketed, where);
  return { host, port: portIn({ text: port, where }) };
}

/** The entries of a list. */
export function entriesIn({ text, where }: Field): Field[] {
  const entries = text.split(",").map((entry) => fieldOf(entry, where));
  if (entries.some((entry) => entry.text === ""))
    throw refused("config_empty", { field: where, of: entries.length === 1 ? "all" : "item" });
  return entries;
}

/** One of the interface's own addresses, host bits kept. */
export function addressIn(entry: Field): Prefix {
  const prefix = prefixIn(entry);
  if (!isHostAddress(addressOf(prefix))) throw refused("wireguard_address_invalid", { field: entry.where });
  return prefix;
}

/** A prefix that may use the tunnel, host bits cleared as WireGuard does. */
export function allowedIpIn(entry: Field): Prefix {
  return networkOf(prefixIn(entry));
}

/** A resolver, as its canonical address, or a search domain, in lower case. */
export function dnsIn({ text, where }: Field): Address | HostName {
  const entry = parseAddress(text) ?? parseHostName(text);
  if (entry === null) throw refused("wireguard_dns_invalid", { field: where });
  return entry;
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
    throw refused("wireguard_number_invalid", { field: where, number: what, min: least, max: most });
  }
  return number;
}

function prefixIn({ text, where }: Field): Prefix {
  const prefix = parsePrefix(text);
  if (prefix === null) throw refused("wireguard_prefix_invalid", { field: where });
  return prefix;
}

function hostIn(host: string, where: string): string {
  const known = isIpv4(host) ? host : parseHostName(host);
  if (known === null) throw refused("wireguard_host_invalid", { field: where });
  return known;
}

function ipv6In(host: string, where: string): string {
  const address = isIpv6(host) ? parseAddress(host) : null;
  if (address === null) throw refused("wireguard_brackets_invalid", { field: where });
  return address;
}
