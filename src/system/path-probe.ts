import { ptr } from "bun:ffi";
import { isIPv6 } from "node:net";
import type { Path } from "./host.ts";
import { DATAGRAM_NONBLOCK_CLOEXEC, type Libc, libc, SOL_SOCKET } from "./libc.ts";
import { refused } from "./refusals.ts";

/** Echo requests may get lost, and the first may only make a router say that it is too long. */
const SENT_AT_MS = [0, 250, 500, 750];
const ANSWERED_WITHIN_MS = 1_500;
/** Once some were answered, a repeated one has had its turn by then. */
const SETTLED_MS = 400;
const POLL_MS = 5;
const MAX_BYTES = 65_536;

/** From the kernel's headers; the same on ARM and x86. */
const SO_BINDTODEVICE = 25;
/** Forbids all fragmentation, and ignores the route's MTU: only the link's counts (ip(7)). */
const PMTUDISC_PROBE = 3;
const FAMILIES = {
  4: {
    number: 2,
    protocol: 1,
    level: 0,
    mtuDiscover: 10,
    header: 20,
    request: 8,
    reply: 0,
    at: 4,
    length: 16,
  },
  6: {
    number: 10,
    protocol: 58,
    level: 41,
    mtuDiscover: 23,
    header: 40,
    request: 128,
    reply: 129,
    at: 8,
    length: 28,
  },
};

type Family = (typeof FAMILIES)[4 | 6];

/**
 * Sends ICMP echo requests from an ICMP socket (icmp(7)), in IP packets of these sizes in bytes; returns the largest size
 * that was answered by a packet of the same size, or null. Tries the largest and the smallest first, and the others only
 * if just the smallest is answered. Throws `GatewayError("unable")` if the kernel permits no such socket.
 */
export async function probePath(
  path: Path,
  sizes: readonly number[],
  signal?: AbortSignal,
): Promise<number | null> {
  const shortest = Math.min(...sizes);
  const longest = await longestOf(path, [Math.max(...sizes), shortest], signal);
  return longest === shortest ? longestOf(path, sizes, signal) : longest;
}

/** Tries all sizes at once. */
async function longestOf(
  { address, link }: Path,
  sizes: readonly number[],
  signal?: AbortSignal,
): Promise<number | null> {
  const family = FAMILIES[isIPv6(address) ? 6 : 4];
  const c = libc();
  const socket = opened(c, family, address, link);
  const begun = performance.now();
  const due = [...SENT_AT_MS];
  const all = Math.max(...sizes);
  let longest: number | null = null;
  for (let end = ANSWERED_WITHIN_MS; longest !== all && !signal?.aborted; ) {
    const passed = performance.now() - begun;
    if (passed >= end) break;
    if (passed >= (due[0] ?? Number.POSITIVE_INFINITY)) {
      due.shift();
      const longer = sizes.filter((size) => size > (longest ?? 0));
      for (const size of longer) send(c, socket, family, size);
    }
    const received = receive(c, socket, family);
    if (received > (longest ?? 0)) {
      longest = received;
      end = Math.min(end, passed + SETTLED_MS);
    }
    await Bun.sleep(POLL_MS);
  }
  c.close(socket);
  return longest;
}

function opened(c: Libc, family: Family, address: string, link: string): number {
  const socket = c.socket(family.number, DATAGRAM_NONBLOCK_CLOEXEC, family.protocol);
  if (socket < 0) throw refused("socket_denied", { kind: "ICMP" });
  const name = Buffer.from(`${link}\0`);
  const probe = Buffer.from(Int32Array.of(PMTUDISC_PROBE).buffer);
  const peer = Buffer.alloc(family.length);
  peer.writeUInt16LE(family.number);
  const done =
    c.setsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, ptr(name), name.length) === 0 &&
    c.setsockopt(socket, family.level, family.mtuDiscover, ptr(probe), probe.length) === 0 &&
    c.inet_pton(family.number, ptr(Buffer.from(`${address}\0`)), ptr(peer, family.at)) === 1 &&
    // The socket then receives nothing from others.
    c.connect(socket, ptr(peer), peer.length) === 0;
  if (done) return socket;
  c.close(socket);
  throw refused("socket_without_route", { kind: "ICMP", address, link });
}

/** The kernel sets identifier and checksum. */
function send(c: Libc, socket: number, { header, request }: Family, size: number): void {
  const packet = Buffer.alloc(size - header);
  packet.writeUInt8(request);
  // The kernel refuses a packet that is too long for the link: no answer, like one that gets lost.
  c.send(socket, ptr(packet), packet.length, 0);
}

/** The size of the longest answer that has come in; 0 if there is none. */
function receive(c: Libc, socket: number, { header, reply }: Family): number {
  const packet = Buffer.alloc(MAX_BYTES);
  for (let longest = 0; ; ) {
    const length = Number(c.recvfrom(socket, ptr(packet), packet.length, 0, null, null));
    if (length <= 0) return longest;
    if (packet[0] === reply) longest = Math.max(longest, length + header);
  }
}
