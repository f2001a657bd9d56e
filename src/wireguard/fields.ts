import {
  formatPrefix,
  isHostName,
  isIpv4,
  isIpv6,
  networkOf,
  type Prefix,
  parseIp,
  parsePrefix,
} from "../address.ts";
import { GatewayError } from "../errors.ts";
import { isKey } from "./key.ts";
import type { Config } from "./schema.ts";

/** One value as somebody wrote it, and where: `line 7: Endpoint` in a file, `endpoint` in a request. */
export interface Field {
  text: string;
  where: string;
}

/** No message quotes the value: a key may stand where nobody expects one. */
export function refuse(where: string, what: string): never {
  throw new GatewayError("bad_request", `${where}: ${what}`);
}

export function keyIn({ text, where }: Field): string {
  const key = trimmed(text);
  if (!isKey(key)) refuse(where, "must be a WireGuard key: 44 characters of base64, and not all zero");
  return key;
}

export function endpointIn({ text, where }: Field): Config["peer"]["endpoint"] {
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*)):([^:]*)$/.exec(trimmed(text)) ?? [];
  if (port === undefined) refuse(where, "must be host:port, or [address]:port for IPv6");
  const host = bracketed === undefined ? hostIn(plain ?? "", where) : ipv6In(bracketed, where);
  return { host, port: portIn({ text: port, where }) };
}

/** The interface's own addresses, host bits kept. */
export function addressesIn(field: Field): string[] {
  return listIn(field).map((item) => formatPrefix(prefixIn(item, field.where)));
}

/** What may pass the tunnel, host bits cleared as WireGuard does it. */
export function allowedIpsIn(field: Field): string[] {
  return listIn(field).map((item) => formatPrefix(networkOf(prefixIn(item, field.where))));
}

/** Resolvers, as canonical addresses, and search domains, in lower case. */
export function dnsIn(field: Field): string[] {
  return listIn(field).map((item) => {
    const resolver = parseIp(item);
    if (resolver === null && !isHostName(item)) {
      refuse(field.where, "must be IP addresses and search domains, separated by commas");
    }
    return resolver ?? item.toLowerCase();
  });
}

/** 576 is what every IPv4 host must take (RFC 791). */
export function mtuIn(field: Field): number {
  return numberIn(field, "the MTU", 576, 65535);
}

export function keepaliveIn(field: Field): number {
  if (/^off$/i.test(trimmed(field.text))) return 0;
  return numberIn(field, "the interval", 0, 65535);
}

export function portIn(field: Field): number {
  return numberIn(field, "the port", 1, 65535);
}

/** Spaces and tabs only: `trim` would take other Unicode white space and the byte order mark as well. */
export function trimmed(text: string): string {
  return text.replace(/^[ \t]+/, "").replace(/[ \t]+$/, "");
}

function numberIn({ text, where }: Field, what: string, least: number, most: number): number {
  const digits = trimmed(text);
  const number = /^(0|[1-9][0-9]{0,9})$/.test(digits) ? Number(digits) : Number.NaN;
  if (!(number >= least && number <= most)) {
    refuse(where, `${what} must be a number from ${least} to ${most}, in plain digits`);
  }
  return number;
}

function listIn({ text, where }: Field): string[] {
  const items = text.split(",").map(trimmed);
  if (items.includes("")) refuse(where, items.length === 1 ? "is empty" : "has an empty item");
  return items;
}

function prefixIn(text: string, where: string): Prefix {
  const prefix = parsePrefix(text);
  if (prefix === null)
    refuse(where, "must be addresses in CIDR form (10.0.0.2/32, fd00::2/128), separated by commas");
  return prefix;
}

function hostIn(host: string, where: string): string {
  if (!isIpv4(host) && !isHostName(host))
    refuse(where, "the host must be an IPv4 address, [an IPv6 address] or a DNS name");
  return host.toLowerCase();
}

function ipv6In(host: string, where: string): string {
  if (!isIpv6(host)) refuse(where, "only an IPv6 address, without a zone, stands in brackets");
  return parseIp(host) ?? host;
}
