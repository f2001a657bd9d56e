import { ptr } from "bun:ffi";
import type { Heard, LinkSocket, Received } from "./host.ts";
import { DATAGRAM_NONBLOCK_CLOEXEC, type Libc, libc, receivedFrom, SOL_SOCKET } from "./libc.ts";
import { refused } from "./refusals.ts";

/** From the kernel's headers; the same on ARM and x86. */
const AF_PACKET = 17;
const [SO_ATTACH_FILTER, SOL_PACKET, PACKET_ADD_MEMBERSHIP] = [26, 263, 1];
/** Bytes of `struct sockaddr_ll`: family, protocol, interface index, hardware type, packet type, length, address. */
const ADDRESS_BYTES = 20;
const ADDRESS_AT = 12;
const MAC_BYTES = 6;
const FPROG_BYTES = 16;
/** More than a link carries in one packet; the rest of a longer one is cut off. */
const MAX_BYTES = 2_048;
/** What one call takes from the kernel at most: a flood must not hold up the service. */
const MAX_AT_ONCE = 128;

/** Classic BPF (linux/bpf_common.h): loads from the packet, or from where the IPv4 header ends; jumps; the verdict. */
const [BYTE, HALF, HALF_AT_X, HEADER_LENGTH] = [0x30, 0x28, 0x48, 0xb1];
const [AND, EQUAL, ANY_BIT, RETURN] = [0x54, 0x15, 0x45, 0x06];

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number];

interface Kind {
  protocol: number;
  group: string | null;
  filter: readonly Instruction[];
}

/** What the kernel lets through, from the IP header on, or ARP's. Everything else wakes nobody and takes no memory. */
const KINDS: Record<Heard, Kind> = {
  "arp replies": {
    protocol: 0x0806,
    group: null,
    filter: [
      [HALF, 0, 0, 6],
      [EQUAL, 0, 1, 2],
      [RETURN, 0, 0, MAX_BYTES],
      [RETURN, 0, 0, 0],
    ],
  },
  "dhcp replies": datagrams(67, 68),
  /** Requests of clients that broadcast them. */
  "dhcp requests": datagrams(68, 67),
  /** ICMPv6 type 134 from a link-local address, with a hop limit of 255, which no router lets through. */
  "router advertisements": {
    protocol: 0x86dd,
    // The kernel itself joins it only while the interface has IPv6; devices use IPv6 without us, too.
    group: "333300000001",
    filter: [
      [HALF, 0, 0, 6],
      [EQUAL, 0, 6, (58 << 8) | 255],
      [HALF, 0, 0, 8],
      [AND, 0, 0, 0xffc0],
      [EQUAL, 0, 3, 0xfe80],
      [BYTE, 0, 0, 40],
      [EQUAL, 0, 1, 134],
      [RETURN, 0, 0, MAX_BYTES],
      [RETURN, 0, 0, 0],
    ],
  },
  /** ICMPv6 type 133 with a hop limit of 255, also from no address. */
  "router solicitations": {
    protocol: 0x86dd,
    group: "333300000002",
    filter: [
      [HALF, 0, 0, 6],
      [EQUAL, 0, 3, (58 << 8) | 255],
      [BYTE, 0, 0, 40],
      [EQUAL, 0, 1, 133],
      [RETURN, 0, 0, MAX_BYTES],
      [RETURN, 0, 0, 0],
    ],
  },
};

/** UDP over IPv4 between two ports, not a fragment. */
function datagrams(from: number, to: number): Kind {
  const filter: Instruction[] = [
    [BYTE, 0, 0, 9],
    [EQUAL, 0, 7, 17],
    [HALF, 0, 0, 6],
    [ANY_BIT, 5, 0, 0x3fff],
    [HEADER_LENGTH, 0, 0, 0],
    [HALF_AT_X, 0, 0, 0],
    [EQUAL, 0, 2, from],
    [HALF_AT_X, 0, 0, 2],
    [EQUAL, 1, 0, to],
    [RETURN, 0, 0, 0],
    [RETURN, 0, 0, MAX_BYTES],
  ];
  return { protocol: 0x0800, group: null, filter };
}

/**
 * A packet socket (packet(7)) on one link. Unlike other sockets, it hears what the kernel drops:
 * from addresses that do not belong on the link, or with IPv6 turned off. It does not hear what this machine sends.
 */
export function listenOn(link: string, heard: Heard): LinkSocket {
  const c = libc();
  const { protocol, group, filter } = KINDS[heard];
  const name = Buffer.from(`${link}\0`);
  const index = c.if_nametoindex(ptr(name));
  if (index === 0) throw refused("interface_unknown", { link });
  // Protocol 0: it hears nothing until it is bound to the link.
  const socket = c.socket(AF_PACKET, DATAGRAM_NONBLOCK_CLOEXEC, 0);
  if (socket < 0) throw refused("socket_denied", { kind: "packet" });
  const local = addressOn(index, protocol, "");
  const isReady =
    attach(c, socket, filter) &&
    (group === null || join(c, socket, index, group)) &&
    c.bind(socket, ptr(local), local.length) === 0;
  if (isReady) return new PacketSocket(c, socket, index, protocol);
  c.close(socket);
  throw refused("socket_unbound", { kind: "packet", work: "listen on", link });
}

class PacketSocket implements LinkSocket {
  readonly mac: string;
  private readonly buffer = Buffer.alloc(MAX_BYTES);

  constructor(
    private readonly c: Libc,
    private readonly socket: number,
    private readonly index: number,
    private readonly protocol: number,
  ) {
    this.mac = macIn(this.local());
  }

  send(to: string, packet: Uint8Array): void {
    const address = addressOn(this.index, this.protocol, to);
    // One that cannot be sent now gets no answer, like one that gets lost.
    this.c.sendto(this.socket, ptr(packet), packet.length, 0, ptr(address), address.length);
  }

  received(): Received[] | null {
    const { socket, buffer } = this;
    const packets = receivedFrom(socket, { buffer, addressBytes: ADDRESS_BYTES, most: MAX_AT_ONCE });
    const all = [...packets.map(({ sender, bytes }) => ({ from: macIn(sender), packet: bytes }))];
    const isGone = all.length === 0 && this.local().readInt32LE(4) !== this.index;
    return isGone ? null : all;
  }

  close(): void {
    this.c.close(this.socket);
  }

  /** The kernel unbinds the socket from an interface that is deleted. */
  private local(): Buffer {
    const address = Buffer.alloc(ADDRESS_BYTES);
    const length = Int32Array.of(ADDRESS_BYTES);
    this.c.getsockname(this.socket, ptr(address), ptr(length));
    return address;
  }
}

function attach(c: Libc, socket: number, filter: readonly Instruction[]): boolean {
  // `struct sock_fprog`: the number of instructions, and a pointer to them, which are behind it here.
  const program = Buffer.alloc(FPROG_BYTES + 8 * filter.length);
  program.writeUInt16LE(filter.length);
  program.writeBigUInt64LE(BigInt(ptr(program, FPROG_BYTES)), 8);
  for (const [number, [code, ifTrue, ifFalse, operand]] of filter.entries()) {
    const at = FPROG_BYTES + 8 * number;
    program.writeUInt16LE(code, at);
    program.writeUInt8(ifTrue, at + 2);
    program.writeUInt8(ifFalse, at + 3);
    program.writeUInt32LE(operand, at + 4);
  }
  return c.setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, ptr(program), FPROG_BYTES) === 0;
}

/** Makes the network card accept frames to a group, as long as the socket is open. */
function join(c: Libc, socket: number, index: number, group: string): boolean {
  const membership = Buffer.alloc(16);
  membership.writeInt32LE(index);
  membership.writeUInt16LE(MAC_BYTES, 6);
  membership.write(group, 8, "hex");
  return c.setsockopt(socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, ptr(membership), membership.length) === 0;
}

function addressOn(index: number, protocol: number, mac: string): Buffer {
  const address = Buffer.alloc(ADDRESS_BYTES);
  address.writeUInt16LE(AF_PACKET);
  address.writeUInt16BE(protocol, 2);
  address.writeInt32LE(index, 4);
  address.writeUInt8(MAC_BYTES, ADDRESS_AT - 1);
  address.write(mac.replaceAll(":", ""), ADDRESS_AT, "hex");
  return address;
}

function macIn(address: Buffer): string {
  return (address.toString("hex", ADDRESS_AT, ADDRESS_AT + MAC_BYTES).match(/../g) ?? []).join(":");
}
