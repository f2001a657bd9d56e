import { type Address, addressFrom, bytesOf, familyOf } from "../base/address.ts";
import type { Route } from "./ip.ts";
import { type Attributes, attribute, attributesIn, type Message } from "./netlink.ts";
import type { Rtnetlink } from "./rtnetlink.ts";

/** From the kernel's headers (linux/rtnetlink.h); the same on ARM and x86. */
export const FAMILIES = { 4: 2, 6: 10 };
const GET = 26;
const HEADER_BYTES = 12;
const [DESTINATION, LINK, GATEWAY, PRIORITY, SOURCE, METRICS, MULTIPATH] = [1, 4, 5, 6, 7, 8, 9];
const [TABLE, MARK, VIA] = [15, 16, 18];
const MTU = 2;
const HOP_BYTES = 8;
const CLONED = 0x200;
const UNICAST = 1;
/** That no route needs to say: none, and that of `ip`. */
const PLAIN_PROTOCOLS = [0, 3];
const BITS = { 2: 32, 10: 128 };
const TYPES: Readonly<Record<number, string>> = {
  2: "local",
  3: "broadcast",
  4: "anycast",
  5: "multicast",
  6: "blackhole",
  7: "unreachable",
  8: "prohibit",
  9: "throw",
};
const PROTOCOLS: Readonly<Record<number, string>> = {
  1: "redirect",
  2: "kernel",
  4: "static",
  9: "ra",
  16: "dhcp",
};
const TABLES: Readonly<Record<number, string>> = { 253: "default", 254: "main", 255: "local" };
const MAIN = 254;
const FLAGS = [
  [1, "dead"],
  [4, "onlink"],
  [16, "linkdown"],
] as const;

/** What is listed: the routes of a table, of `main` if none is named. */
export interface Routes {
  family: 4 | 6;
  isDefault: boolean;
  table: string | undefined;
}

/** Null if the kernel does not say. */
export function listedRoutes(kernel: Rtnetlink, asked: Routes): Promise<Route[] | null> {
  const family = FAMILIES[asked.family];
  const wanted = asked.table === "all" ? null : Number(asked.table ?? MAIN);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(family);
  const attributes = wanted === null ? [] : [attribute(TABLE, wordOf(wanted))];
  return kernel.all({ type: GET, header, attributes }, ({ body }) => {
    // A kernel without IPv6 lists IPv4.
    if (body.readUInt8(0) !== family || (body.readUInt32LE(8) & CLONED) !== 0) return null;
    if (asked.isDefault && body.readUInt8(1) !== 0) return null;
    const route = { body, attributes: attributesIn(body.subarray(HEADER_BYTES)) };
    return wanted === null || tableOf(route) === wanted ? routeIn(route, kernel, wanted === null) : null;
  });
}

/** Where a packet with a mark would go now. */
export async function routeTo(kernel: Rtnetlink, address: Address, mark: number): Promise<Route | null> {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(FAMILIES[familyOf(address)]);
  const destination = bytesOf(address);
  header.writeUInt8(8 * destination.length, 1);
  const attributes = [attribute(DESTINATION, destination), attribute(MARK, wordOf(mark))];
  const found = await kernel.one({ type: GET, header, attributes });
  return (
    found &&
    routeIn({ body: found.body, attributes: attributesIn(found.body.subarray(HEADER_BYTES)) }, kernel, true)
  );
}

interface Found {
  body: Message["body"];
  attributes: Attributes;
}

function routeIn(found: Found, kernel: Rtnetlink, isTableShown: boolean): Route {
  const { body, attributes } = found;
  const [type, protocol, table] = [body.readUInt8(7), body.readUInt8(5), tableOf(found)];
  const [metric, source] = [attributes.get(PRIORITY), attributes.get(SOURCE)];
  const mtu = attributesIn(attributes.get(METRICS)).get(MTU);
  const hops = attributes.get(MULTIPATH);
  return {
    ...(type !== UNICAST && { type: TYPES[type] ?? String(type) }),
    ...{ dst: destinationOf(found), ...hopIn(attributes, kernel) },
    ...(isTableShown && table !== MAIN && { table: tableText(table) }),
    ...(!PLAIN_PROTOCOLS.includes(protocol) && { protocol: protocolText(protocol) }),
    ...(source && { prefsrc: addressText(source) }),
    ...(metric && { metric: metric.readUInt32LE() }),
    ...(mtu && { metrics: [{ mtu: mtu.readUInt32LE() }] }),
    ...(hops && { nexthops: hopsIn(hops, kernel) }),
    flags: flagsIn(body.readUInt32LE(8)),
  };
}

function destinationOf({ body, attributes }: Found): string {
  const [family, length] = [body.readUInt8(0), body.readUInt8(1)];
  const bytes = attributes.get(DESTINATION);
  if (length === 0 || bytes === undefined) return "default";
  return length === BITS[family as keyof typeof BITS]
    ? addressText(bytes)
    : `${addressText(bytes)}/${length}`;
}

type Hop = Pick<Route, "gateway" | "via" | "dev">;

function hopIn(attributes: Attributes, kernel: Rtnetlink): Hop {
  const [gateway, via, link] = [GATEWAY, VIA, LINK].map((type) => attributes.get(type));
  return {
    ...(gateway && { gateway: addressText(gateway) }),
    ...(via && { via: { family: "inet6", host: addressText(via.subarray(2)) } }),
    ...(link && { dev: kernel.nameOf(link.readInt32LE()) }),
  };
}

/** A list of `struct rtnexthop`, each with attributes of its own. */
function hopsIn(bytes: Buffer, kernel: Rtnetlink): NonNullable<Route["nexthops"]> {
  const hops: NonNullable<Route["nexthops"]> = [];
  for (let at = 0; at + HOP_BYTES <= bytes.length; ) {
    const length = bytes.readUInt16LE(at);
    if (length < HOP_BYTES) break;
    const dev = kernel.nameOf(bytes.readInt32LE(at + 4));
    const { gateway } = hopIn(attributesIn(bytes.subarray(at + HOP_BYTES, at + length)), kernel);
    hops.push({ ...(gateway && { gateway }), dev, flags: flagsIn(bytes.readUInt8(at + 2)) });
    at += (length + 3) & ~3;
  }
  return hops;
}

function flagsIn(bits: number): string[] {
  return FLAGS.filter(([bit]) => (bits & bit) !== 0).map(([, name]) => name);
}

function tableOf({ body, attributes }: Found): number {
  return attributes.get(TABLE)?.readUInt32LE() ?? body.readUInt8(4);
}

function tableText(table: number): string {
  return TABLES[table] ?? String(table);
}

function protocolText(protocol: number): string {
  return PROTOCOLS[protocol] ?? String(protocol);
}

export function addressText(bytes: Buffer): string {
  return bytes.length === 4 ? bytes.join(".") : addressFrom(bytes);
}

export function wordOf(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
