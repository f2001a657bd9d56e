import { type Address, isPrivatePrefix, parseAddress, parsePrefix } from "../base/address.ts";
import type { Host, LinkSocket } from "../system/host.ts";
import { refused } from "./refusals.ts";

/** What a DHCP server would give a device. */
export interface Offer {
  interface: string;
  /** The server's own address, as it says. */
  server: Address;
  /** The server's MAC address, or that of a relay. */
  mac: string;
  /** Routers that the device would use, also those of classless routes (RFC 3442); none for a network without a way out. */
  routers: Address[];
  /** Resolvers that the device would use. */
  resolvers: Address[];
  /** The address that the device would get. */
  address: Address;
}

const BROADCAST_MAC = "ff:ff:ff:ff:ff:ff";
/** All answers are waited for, so a look that comes later costs nothing. */
const POLL_MS = 500;
/** A DISCOVER may get lost, and is repeated if nobody has answered. */
const SENT_AT_MS = [0, 2_000];
/** Servers check whether an address is free before they offer it; dnsmasq does so for 3 s. */
const OFFERED_WITHIN_MS = 5_000;
/** One link may have several servers, and a hostile host can be as many as it likes. */
const MAX_OFFERS = 16;
/**
 * Replies that are read, including those to others. If there are more, the kernel may have dropped some, and an offer
 * may be among them.
 */
const MAX_REPLIES = 256;
const MAX_ROUTES = 16;

/** Options of RFC 2131, section 2, and RFC 2132. */
const [FIXED_BYTES, COOKIE] = [236, 0x63825363];
const [BOOTREQUEST, BOOTREPLY] = [1, 2];
const [DISCOVER, OFFER, REQUEST, ACK] = [1, 2, 3, 5];
const OPTION = { pad: 0, routers: 3, resolvers: 6, type: 53, server: 54, wanted: 55, routes: 121, end: 255 };
/** What Windows sent for classless routes before RFC 3442; many servers send both. */
const MICROSOFT_ROUTES = 249;
const KNOWN = new Set([...Object.values(OPTION), MICROSOFT_ROUTES]);

/**
 * Asks the DHCP servers of a link what they would give this machine, and waits 5 s for the answers. Only a DISCOVER is
 * sent, so nothing is leased. A server on this machine does not hear it. Throws `GatewayError("unable")`, also if so many
 * replies come that an offer may be missing.
 */
export async function offersOn(
  host: Pick<Host, "listenOn" | "sleep" | "monotonic">,
  link: string,
  signal?: AbortSignal,
): Promise<Offer[]> {
  const socket = await host.listenOn(link, "dhcp replies");
  const id = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  const packet = discoverFrom(socket.mac, id);
  const due = [...SENT_AT_MS];
  const found = new Map<string, Offer>();
  let replies = 0;
  try {
    for (const start = host.monotonic(); !signal?.aborted; ) {
      const passed = host.monotonic() - start;
      if (passed >= OFFERED_WITHIN_MS) break;
      if (found.size === 0 && passed >= (due[0] ?? Number.POSITIVE_INFINITY)) {
        due.shift();
        socket.send(BROADCAST_MAC, packet);
      }
      await host.sleep(POLL_MS, signal);
      for (const { from, packet } of socket.received() ?? []) {
        replies += 1;
        const reply = found.size >= MAX_OFFERS ? null : replyIn(packet);
        if (reply === null || reply.id !== id) continue;
        const { server, routers, resolvers, address } = reply;
        found.set(`${from} ${server}`, { interface: link, server, mac: from, routers, resolvers, address });
      }
    }
  } finally {
    socket.close();
  }
  if (found.size === 0 && replies > MAX_REPLIES) throw refused("dhcp_flood", { link });
  return [...found.values()];
}

/**
 * The links with a DHCP server that is not this machine, and those on one cable with such a link, where this machine's own
 * questions are heard: a server may know only one of its cards, or have no address left for the other. Throws as `offersOn`.
 */
export async function answeringLinks(
  host: Parameters<typeof offersOn>[0],
  links: readonly string[],
  own: readonly string[],
  signal?: AbortSignal,
): Promise<string[]> {
  const ears: LinkSocket[] = [];
  try {
    for (const link of links) ears.push(await host.listenOn(link, "dhcp requests"));
    const offers = await Promise.all(links.map((link) => offersOn(host, link, signal)));
    const answer = offers.map((all) => all.some(({ server }) => !own.includes(server)));
    const heard = ears.map((ear) => (ear.received() ?? []).map(({ from }) => from));
    const isBeside = (at: number, other: number) =>
      at !== other && heard[at]?.includes(ears[other]?.mac ?? "") === true;
    return links.filter((_, at) =>
      answer.some((does, other) => does && (other === at || isBeside(at, other))),
    );
  } finally {
    for (const ear of ears) ear.close();
  }
}

/** An IPv4 packet with a DHCPDISCOVER, to all hosts of the link. */
export function discoverFrom(mac: string, id: number): Uint8Array {
  const message = Buffer.alloc(FIXED_BYTES + 4);
  // A request, from Ethernet with addresses of 6 bytes.
  message.set([1, 1, 6, 0]);
  message.writeUInt32BE(id, 4);
  // The answer is to be broadcast, because no machine here has the offered address.
  message.writeUInt16BE(0x8000, 10);
  message.write(mac.replaceAll(":", ""), 28, "hex");
  message.writeUInt32BE(COOKIE, FIXED_BYTES);
  const wanted = [1, OPTION.routers, OPTION.resolvers, OPTION.routes, MICROSOFT_ROUTES];
  const options = [OPTION.type, 1, DISCOVER, OPTION.wanted, wanted.length, ...wanted, OPTION.end];
  return toAllHosts(Buffer.concat([message, Buffer.from(options), Buffer.alloc(60 - options.length)]));
}

/** The content of an OFFER or ACK; null if the packet is neither, or is not valid. */
export function replyIn(packet: Uint8Array): (Omit<Offer, "interface" | "mac"> & { id: number }) | null {
  const message = messageIn(packet, BOOTREPLY);
  if (message === null) return null;
  const options = optionsIn(message.subarray(FIXED_BYTES + 4));
  const [type] = options.get(OPTION.type) ?? [];
  const [server] = addressesIn(options.get(OPTION.server));
  const [address] = addressesIn(message.subarray(16, 20));
  if ((type !== OFFER && type !== ACK) || server === undefined || address === undefined) return null;
  const routes = options.get(OPTION.routes) ?? options.get(MICROSOFT_ROUTES);
  return {
    id: message.readUInt32BE(4),
    server,
    // A client that understands classless routes ignores the routers (RFC 3442); others know nothing else.
    routers: [...new Set([...addressesIn(options.get(OPTION.routers)), ...routersIn(routes)])],
    resolvers: addressesIn(options.get(OPTION.resolvers)),
    address,
  };
}

/** The server whose offer a client accepts, which it tells all servers; null if the packet does not contain this. */
export function chosenServerIn(packet: Uint8Array): Address | null {
  const message = messageIn(packet, BOOTREQUEST);
  if (message === null) return null;
  const options = optionsIn(message.subarray(FIXED_BYTES + 4));
  const [type] = options.get(OPTION.type) ?? [];
  const [server] = addressesIn(options.get(OPTION.server));
  return type === REQUEST ? (server ?? null) : null;
}

/** The DHCP message of a kind in an IPv4 packet. */
function messageIn(packet: Uint8Array, kind: number): Buffer | null {
  const view = Buffer.from(packet.buffer, packet.byteOffset, packet.byteLength);
  const header = ((view[0] ?? 0) & 0x0f) * 4;
  const message = view.subarray(header + 8);
  if (header < 20 || message.length < FIXED_BYTES + 4 || message[0] !== kind) return null;
  return message.readUInt32BE(FIXED_BYTES) === COOKIE ? message : null;
}

/** By number. An option that comes several times is one in parts (RFC 3396). One that is cut off ends the list. */
function optionsIn(bytes: Buffer): Map<number, Buffer> {
  const parts = new Map<number, Buffer[]>();
  for (let at = 0; at < bytes.length; ) {
    const code = bytes[at] ?? OPTION.end;
    if (code === OPTION.end) break;
    const length = code === OPTION.pad ? -1 : bytes[at + 1];
    if (length === undefined || at + 2 + length > bytes.length) break;
    if (length > 0 && KNOWN.has(code)) {
      const part = bytes.subarray(at + 2, at + 2 + length);
      const before = parts.get(code);
      if (before === undefined) parts.set(code, [part]);
      else before.push(part);
    }
    at += 2 + length;
  }
  // At the end: one that comes in hundreds of parts would be copied as often.
  return new Map([...parts].map(([code, all]) => [code, Buffer.concat(all)]));
}

/** The addresses in a sequence, without those that no host can have. */
function addressesIn(bytes: Uint8Array = new Uint8Array()): Address[] {
  const all: Address[] = [];
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const [first = 0] = bytes.subarray(at);
    const address = parseAddress(bytes.subarray(at, at + 4).join("."));
    if (address !== null && first !== 0 && first !== 127 && first < 224) all.push(address);
  }
  return all;
}

/**
 * The routers of classless routes, except to private networks. Each route has the length of its prefix, the bytes of
 * the prefix that count, and a router (RFC 3442).
 */
function routersIn(bytes: Buffer = Buffer.alloc(0)): Address[] {
  const all: Address[] = [];
  for (let at = 0, count = 0; at < bytes.length && count < MAX_ROUTES; count += 1) {
    const length = bytes[at] ?? 0;
    const significant = Math.ceil(length / 8);
    const router = bytes.subarray(at + 1 + significant, at + 5 + significant);
    if (significant > 4 || router.length < 4) break;
    const network = Uint8Array.from({ length: 4 }, (_, index) =>
      index < significant ? (bytes[at + 1 + index] ?? 0) : 0,
    );
    const prefix = parsePrefix(`${network.join(".")}/${length}`);
    if (prefix === null || !isPrivatePrefix(prefix)) all.push(...addressesIn(router));
    at += 5 + significant;
  }
  return all;
}

/** UDP from port 68 to port 67, without a checksum, which IPv4 permits (RFC 768). */
function toAllHosts(message: Uint8Array): Uint8Array {
  const headers = Buffer.alloc(28);
  headers.set([0x45, 0x10]);
  headers.writeUInt16BE(headers.length + message.length, 2);
  headers.set([64, 17], 8);
  headers.writeUInt32BE(0xffffffff, 16);
  headers.writeUInt16BE(checksumOf(headers.subarray(0, 20)), 10);
  headers.writeUInt16BE(68, 20);
  headers.writeUInt16BE(67, 22);
  headers.writeUInt16BE(8 + message.length, 24);
  return Buffer.concat([headers, message]);
}

/** The checksum of RFC 1071, for an even number of bytes. */
function checksumOf(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 2) sum += bytes.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
