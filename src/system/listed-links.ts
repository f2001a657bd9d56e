import type { AddressedLink, Link } from "./ip.ts";
import { addressText, FAMILIES, wordOf } from "./listed-routes.ts";
import { attribute, attributesIn, type Message, textIn } from "./netlink.ts";
import type { Question, Rtnetlink } from "./rtnetlink.ts";

/** From the kernel's headers (linux/if_link.h, if_addr.h, if_arp.h, rtnetlink.h); the same on ARM and x86. */
const [DELETE_LINK, GET_LINK, GET_ADDRESS] = [17, 18, 22];
const [LINK_HEADER_BYTES, ADDRESS_HEADER_BYTES] = [16, 8];
const LINK = { name: 3, mtu: 4, master: 10, info: 18, filter: 29 };
const INFO = { kind: 1, portKind: 4 };
const ADDRESS = { address: 1, local: 2, flags: 8 };
/** Leaves out counters, which take most of a message. */
const SKIP_STATISTICS = 0x8;
const [UP, RUNNING] = [0x1, 0x40];
const [TENTATIVE, PERMANENT] = [0x40, 0x80];
const LINK_SCOPE = 253;
const TYPES: Readonly<Record<number, string>> = { 1: "ether", 772: "loopback", 65534: "none" };

interface Which {
  /** The only link. */
  link?: string | undefined;
  /** The bridge or bond whose ports they are. */
  master?: string | undefined;
}

/** Null if the kernel does not say, or if there is no such link. */
export async function listedLinks(kernel: Rtnetlink, which: Which = {}): Promise<Link[] | null> {
  const links = await linksOf(kernel, which.link);
  if (which.master === undefined) return links?.map(withoutIndex) ?? null;
  return (
    links
      ?.filter(({ master }) => master !== null && kernel.nameOf(master) === which.master)
      .map(withoutIndex) ?? null
  );
}

interface Addresses {
  family?: 4 | 6 | undefined;
  link?: string | undefined;
  isLinkScope?: boolean;
}

/** The same for links with their addresses; if a family is named, only those that have some. */
export async function listedAddresses(kernel: Rtnetlink, asked: Addresses): Promise<AddressedLink[] | null> {
  const links = await linksOf(kernel, asked.link);
  if (links === null) return null;
  const header = Buffer.alloc(ADDRESS_HEADER_BYTES);
  const family = asked.family === undefined ? 0 : FAMILIES[asked.family];
  header.writeUInt8(family);
  // A kernel without IPv6 lists IPv4.
  const isCounted = ({ body }: Message) => family === 0 || body.readUInt8(0) === family;
  const found = await kernel.all({ type: GET_ADDRESS, header }, (each) => (isCounted(each) ? each : null));
  if (found === null) return null;
  const byLink = Map.groupBy(found, ({ body }) => body.readUInt32LE(4));
  return links
    .map((link) => ({
      ...withoutIndex(link),
      addr_info: (byLink.get(link.index) ?? [])
        .filter(({ body }) => asked.isLinkScope !== true || body.readUInt8(3) === LINK_SCOPE)
        .map(addressIn),
    }))
    .filter(({ addr_info }) => asked.family === undefined || addr_info.length > 0);
}

export function deletionOf(name: string): Question {
  const attributes = [attribute(LINK.name, Buffer.from(`${name}\0`))];
  return { type: DELETE_LINK, header: Buffer.alloc(LINK_HEADER_BYTES), attributes };
}

async function linksOf(kernel: Rtnetlink, name: string | undefined): Promise<Found[] | null> {
  const filter = attribute(LINK.filter, wordOf(SKIP_STATISTICS));
  const question = { type: GET_LINK, header: Buffer.alloc(LINK_HEADER_BYTES) };
  if (name === undefined) return kernel.all({ ...question, attributes: [filter] }, linkIn);
  const attributes = [filter, attribute(LINK.name, Buffer.from(`${name}\0`))];
  const found = await kernel.one({ ...question, attributes });
  return found && [linkIn(found)];
}

interface Found extends Link {
  index: number;
  master: number | null;
}

function linkIn({ body }: Message): Found {
  const attributes = attributesIn(body.subarray(LINK_HEADER_BYTES));
  const info = attributesIn(attributes.get(LINK.info));
  const [kind, portKind] = [info.get(INFO.kind), info.get(INFO.portKind)];
  const flags = body.readUInt32LE(8);
  const type = body.readUInt16LE(2);
  return {
    index: body.readInt32LE(4),
    master: attributes.get(LINK.master)?.readUInt32LE() ?? null,
    ifname: textIn(attributes.get(LINK.name) ?? Buffer.alloc(0)),
    mtu: attributes.get(LINK.mtu)?.readUInt32LE() ?? 0,
    link_type: TYPES[type] ?? String(type),
    flags: [...((flags & UP) === 0 ? [] : (flags & RUNNING) === 0 ? ["NO-CARRIER", "UP"] : ["UP"])],
    ...((kind ?? portKind) && {
      linkinfo: {
        ...(kind && { info_kind: textIn(kind) }),
        ...(portKind && { info_slave_kind: textIn(portKind) }),
      },
    }),
  };
}

function withoutIndex({ index: _, master: __, ...link }: Found): Link {
  return link;
}

function addressIn({ body }: Message): AddressedLink["addr_info"][number] {
  const attributes = attributesIn(body.subarray(ADDRESS_HEADER_BYTES));
  const local = attributes.get(ADDRESS.local) ?? attributes.get(ADDRESS.address);
  const flags = attributes.get(ADDRESS.flags)?.readUInt32LE() ?? body.readUInt8(2);
  return {
    family: body.readUInt8(0) === FAMILIES[4] ? "inet" : "inet6",
    ...(local && { local: addressText(local) }),
    prefixlen: body.readUInt8(1),
    ...((flags & PERMANENT) === 0 && { dynamic: true }),
    ...((flags & TENTATIVE) !== 0 && { tentative: true }),
  };
}
