import { dlopen, ptr } from "bun:ffi";
import { GatewayError } from "../errors.ts";
import type { Datagram, UdpPlace, UdpSocket } from "./host.ts";
import { inNamespace } from "./link-socket.ts";

/** From the kernel's headers; the same on ARM and x86. */
const AF_INET = 2;
const DATAGRAM_NONBLOCK_CLOEXEC = 0o2 | 0o4000 | 0o2000000;
const [SOL_SOCKET, SO_ERROR, SO_BINDTODEVICE, SO_MARK] = [1, 4, 25, 36];
const ECONNREFUSED = 111;
/** Bytes of `struct sockaddr_in`: family, port, address, and padding. */
const ADDRESS_BYTES = 16;
/** The longest message of the protocols that use this (RFC 6887, 7); the rest of a longer one is cut off. */
const LONGEST_BYTES = 1_101;
/** What one call takes from the kernel at most: a flood must not hold up the service. */
const MOST_AT_ONCE = 64;

/** A UDP socket for IPv4 that is bound to one link of a network namespace. */
export function openUdp(netns: string | null, place: UdpPlace): UdpSocket {
  symbols ??= libc();
  const c = symbols;
  return inNamespace(c, netns, () => {
    const socket = c.socket(AF_INET, DATAGRAM_NONBLOCK_CLOEXEC, 0);
    if (socket >= 0 && isPlaced(c, socket, place)) return new LibcUdpSocket(c, socket);
    c.close(socket);
    const { link, own, peer } = place;
    const where =
      own === undefined ? `send to ${peer?.address}` : `listen on ${own.address} port ${own.port}`;
    throw new GatewayError("unable", `no UDP socket can ${where} by ${link}`);
  });
}

function isPlaced(c: Libc, socket: number, { link, mark = 0, own, peer }: UdpPlace): boolean {
  const name = Buffer.from(`${link}\0`);
  const marked = Buffer.from(Int32Array.of(mark).buffer);
  const [from, to] = [own && addressOf(own), peer && addressOf(peer)];
  return (
    c.setsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, ptr(name), name.length) === 0 &&
    (mark === 0 || c.setsockopt(socket, SOL_SOCKET, SO_MARK, ptr(marked), marked.length) === 0) &&
    (from === undefined || c.bind(socket, ptr(from), from.length) === 0) &&
    // The socket then receives nothing from others.
    (to === undefined || c.connect(socket, ptr(to), to.length) === 0)
  );
}

class LibcUdpSocket implements UdpSocket {
  private readonly buffer = Buffer.alloc(LONGEST_BYTES);

  constructor(
    private readonly c: Libc,
    private readonly socket: number,
  ) {}

  send(bytes: Uint8Array, to?: { address: string; port: number }): void {
    const { c, socket } = this;
    // What cannot be sent now gets no answer, like what gets lost.
    if (to === undefined) c.send(socket, ptr(bytes), bytes.length, 0);
    else c.sendto(socket, ptr(bytes), bytes.length, 0, ptr(addressOf(to)), ADDRESS_BYTES);
  }

  received(): Datagram[] | "refused" {
    const { c, socket, buffer } = this;
    const error = Int32Array.of(0);
    // Reading the error clears it: the next call receives what has come in.
    c.getsockopt(socket, SOL_SOCKET, SO_ERROR, ptr(error), ptr(Int32Array.of(4)));
    if (error[0] === ECONNREFUSED) return "refused";
    const all: Datagram[] = [];
    const sender = Buffer.alloc(ADDRESS_BYTES);
    while (all.length < MOST_AT_ONCE) {
      const length = Int32Array.of(ADDRESS_BYTES);
      const bytes = Number(c.recvfrom(socket, ptr(buffer), buffer.length, 0, ptr(sender), ptr(length)));
      if (bytes < 0) break;
      const address = sender.subarray(4, 8).join(".");
      all.push({ address, port: sender.readUInt16BE(2), bytes: Uint8Array.from(buffer.subarray(0, bytes)) });
    }
    return all;
  }

  close(): void {
    this.c.close(this.socket);
  }
}

function addressOf({ address, port }: { address: string; port: number }): Buffer {
  const bytes = Buffer.alloc(ADDRESS_BYTES);
  bytes.writeUInt16LE(AF_INET);
  bytes.writeUInt16BE(port, 2);
  bytes.set(address.split(".").map(Number), 4);
  return bytes;
}

type Libc = ReturnType<typeof libc>;
/** Opened once: sockets come and go as long as the service runs. */
let symbols: Libc | null = null;

/** Bun's own sockets can be neither bound to a link nor marked, nor be in another namespace. */
function libc() {
  return dlopen("libc.so.6", {
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    setsockopt: { args: ["i32", "i32", "i32", "ptr", "u32"], returns: "i32" },
    getsockopt: { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" },
    bind: { args: ["i32", "ptr", "u32"], returns: "i32" },
    connect: { args: ["i32", "ptr", "u32"], returns: "i32" },
    send: { args: ["i32", "ptr", "usize", "i32"], returns: "i64" },
    sendto: { args: ["i32", "ptr", "usize", "i32", "ptr", "u32"], returns: "i64" },
    recvfrom: { args: ["i32", "ptr", "usize", "i32", "ptr", "ptr"], returns: "i64" },
    setns: { args: ["i32", "i32"], returns: "i32" },
    close: { args: ["i32"], returns: "i32" },
  }).symbols;
}
