import { ptr } from "bun:ffi";
import { addressFrom, bytesOf, mustParseAddress } from "../base/address.ts";
import type { Datagram, UdpPlace, UdpSocket } from "./host.ts";
import { DATAGRAM_NONBLOCK_CLOEXEC, type Libc, libc, receivedFrom, SOL_SOCKET } from "./libc.ts";
import { refused } from "./refusals.ts";

/** From the kernel's headers; the same on ARM and x86. */
const [AF_INET, AF_INET6] = [2, 10];
const [SO_ERROR, SO_BINDTODEVICE, SO_MARK] = [4, 25, 36];
const ECONNREFUSED = 111;
/** Bytes of `struct sockaddr_in`: family, port, address, and padding. */
const IPV4_BYTES = 16;
/** Bytes of `struct sockaddr_in6`: family, port, flow, address, and the link of a link-local address. */
const IPV6_BYTES = 28;
/** The longest message of the protocols that use this (RFC 6887, 7); the rest of a longer one is cut off. */
const MAX_BYTES = 1_101;
/** What one call takes from the kernel at most: a flood must not hold up the service. */
const MAX_AT_ONCE = 64;

/** A UDP socket that is bound to one link. */
export function openUdp(place: UdpPlace): UdpSocket {
  const c = libc();
  const { link, own, peer } = place;
  const isIpv6 = (own ?? peer)?.address.includes(":") === true;
  const socket = c.socket(isIpv6 ? AF_INET6 : AF_INET, DATAGRAM_NONBLOCK_CLOEXEC, 0);
  if (socket >= 0 && isPlaced(c, socket, place))
    return new LibcUdpSocket(c, socket, link, isIpv6 ? IPV6_BYTES : IPV4_BYTES);
  c.close(socket);
  const where = own === undefined ? `send to ${peer?.address}` : `listen on ${own.address} port ${own.port}`;
  throw refused("socket_unbound", { kind: "UDP", work: `${where} by`, link: `${link}` });
}

function isPlaced(c: Libc, socket: number, { link, mark = 0, own, peer }: UdpPlace): boolean {
  const name = Buffer.from(`${link}\0`);
  const marked = Buffer.from(Int32Array.of(mark).buffer);
  const [from, to] = [own && addressOf(own, link), peer && addressOf(peer, link)];
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
    private readonly link: string,
    private readonly addressBytes: number,
  ) {}

  send(bytes: Uint8Array, to?: { address: string; port: number }): void {
    const { c, socket, link, addressBytes } = this;
    // What cannot be sent now gets no answer, like what gets lost.
    if (to === undefined) c.send(socket, ptr(bytes), bytes.length, 0);
    else c.sendto(socket, ptr(bytes), bytes.length, 0, ptr(addressOf(to, link)), addressBytes);
  }

  received(): Datagram[] | "refused" {
    const { c, socket, buffer, addressBytes } = this;
    const error = Int32Array.of(0);
    // Reading the error clears it: the next call receives what has come in.
    c.getsockopt(socket, SOL_SOCKET, SO_ERROR, ptr(error), ptr(Int32Array.of(4)));
    if (error[0] === ECONNREFUSED) return "refused";
    const packets = receivedFrom(socket, { buffer, addressBytes, most: MAX_AT_ONCE });
    return [...packets].map(({ sender, bytes }) => ({
      address: senderIn(sender),
      port: sender.readUInt16BE(2),
      bytes,
    }));
  }

  close(): void {
    this.c.close(this.socket);
  }
}

function addressOf({ address, port }: { address: string; port: number }, link: string): Buffer {
  const isIpv6 = address.includes(":");
  const bytes = Buffer.alloc(isIpv6 ? IPV6_BYTES : IPV4_BYTES);
  bytes.writeUInt16LE(isIpv6 ? AF_INET6 : AF_INET);
  bytes.writeUInt16BE(port, 2);
  bytes.set(bytesOf(mustParseAddress(address)), isIpv6 ? 8 : 4);
  if (isIpv6) bytes.writeUInt32LE(libc().if_nametoindex(ptr(Buffer.from(`${link}\0`))), 24);
  return bytes;
}

function senderIn(sender: Buffer): string {
  return addressFrom(sender.length === IPV4_BYTES ? sender.subarray(4, 8) : sender.subarray(8, 24));
}
