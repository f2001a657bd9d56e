import { ptr } from "bun:ffi";
import { GatewayError } from "../base/errors.ts";
import type { Datagram, UdpPlace, UdpSocket } from "./host.ts";
import { DATAGRAM_NONBLOCK_CLOEXEC, type Libc, libc, receivedFrom, SOL_SOCKET } from "./libc.ts";

/** From the kernel's headers; the same on ARM and x86. */
const AF_INET = 2;
const [SO_ERROR, SO_BINDTODEVICE, SO_MARK] = [4, 25, 36];
const ECONNREFUSED = 111;
/** Bytes of `struct sockaddr_in`: family, port, address, and padding. */
const ADDRESS_BYTES = 16;
/** The longest message of the protocols that use this (RFC 6887, 7); the rest of a longer one is cut off. */
const MAX_BYTES = 1_101;
/** What one call takes from the kernel at most: a flood must not hold up the service. */
const MAX_AT_ONCE = 64;

/** A UDP socket for IPv4 that is bound to one link. */
export function openUdp(place: UdpPlace): UdpSocket {
  const c = libc();
  const socket = c.socket(AF_INET, DATAGRAM_NONBLOCK_CLOEXEC, 0);
  if (socket >= 0 && isPlaced(c, socket, place)) return new LibcUdpSocket(c, socket);
  c.close(socket);
  const { link, own, peer } = place;
  const where = own === undefined ? `send to ${peer?.address}` : `listen on ${own.address} port ${own.port}`;
  throw new GatewayError("unable", `no UDP socket can ${where} by ${link}`);
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
  private readonly buffer = Buffer.alloc(MAX_BYTES);

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
    const packets = receivedFrom(socket, { buffer, addressBytes: ADDRESS_BYTES, most: MAX_AT_ONCE });
    return [
      ...packets.map(({ sender, bytes }) => ({
        ...{ address: sender.subarray(4, 8).join("."), port: sender.readUInt16BE(2) },
        bytes,
      })),
    ];
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
