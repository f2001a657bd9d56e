import { type Pointer, ptr } from "bun:ffi";
import { libc } from "../libc.ts";

/** The packets of one call. */
const MOST = 64;
/** More than a cable carries, and room for what a disguise adds. */
const ROOM_BYTES = 9_216;
/** `struct iovec` and `struct mmsghdr` of 64-bit machines, and where their fields are. */
const IOVEC = { bytes: 16, length: 8 };
const HEADER = { bytes: 64, iovec: 16, iovecs: 24, received: 56 };
/** Do not wait (MSG_DONTWAIT), from the kernel's headers; the same on ARM and x86. */
const DONTWAIT = 0x40;

/**
 * Packets that are received, rewritten and sent on together. The buffers are made once: the kernel writes into them and
 * reads from them, so a packet costs a small part of what it would as an event.
 */
export class Batch {
  /** Where each packet is. */
  readonly packets: readonly Uint8Array[];
  private readonly room = new Uint8Array(MOST * ROOM_BYTES);
  private readonly incoming = new Headers(this.room);
  private readonly outgoing = new Headers(this.room);
  private kept = 0;

  constructor() {
    this.packets = Array.from({ length: MOST }, (_, at) =>
      this.room.subarray(at * ROOM_BYTES, (at + 1) * ROOM_BYTES),
    );
  }

  /** How many packets have come in at a socket, now. None are kept yet. */
  receive(socket: number): number {
    this.kept = 0;
    return Math.max(0, libc().recvmmsg(socket, this.incoming.at, MOST, DONTWAIT, null));
  }

  /** Of a received packet, in bytes; 0 if it was too long. */
  lengthOf(index: number): number {
    const length = this.incoming.received(index);
    return length < ROOM_BYTES ? length : 0;
  }

  /** Is to be sent on. */
  keep(index: number, length: number): void {
    this.outgoing.point(this.kept, index, length);
    this.kept += 1;
  }

  /** What the socket does not take is lost, as on any link. */
  send(socket: number): void {
    const { kept, outgoing } = this;
    if (kept === 0) return;
    const sent = Math.max(0, libc().sendmmsg(socket, outgoing.at, kept, DONTWAIT));
    // It may have told of an error that an earlier packet met.
    if (sent < kept) libc().sendmmsg(socket, outgoing.from(sent), kept - sent, DONTWAIT);
  }
}

/** An array of `struct mmsghdr`, each with one `struct iovec`, which points to a packet's room. */
class Headers {
  readonly at: Pointer;
  private readonly iovecs = new DataView(new ArrayBuffer(MOST * IOVEC.bytes));
  private readonly headers = new DataView(new ArrayBuffer(MOST * HEADER.bytes));
  private readonly room: bigint;

  constructor(room: Uint8Array) {
    this.room = BigInt(ptr(room));
    this.at = ptr(this.headers);
    const iovecs = BigInt(ptr(this.iovecs));
    for (let index = 0; index < MOST; index++) {
      this.point(index, index, ROOM_BYTES);
      const at = index * HEADER.bytes;
      this.headers.setBigUint64(at + HEADER.iovec, iovecs + BigInt(index * IOVEC.bytes), true);
      this.headers.setBigUint64(at + HEADER.iovecs, 1n, true);
    }
  }

  /** From this one on. */
  from(index: number): Pointer {
    return (this.at + index * HEADER.bytes) as Pointer;
  }

  received(index: number): number {
    return this.headers.getUint32(index * HEADER.bytes + HEADER.received, true);
  }

  point(index: number, packet: number, length: number): void {
    const at = index * IOVEC.bytes;
    this.iovecs.setBigUint64(at, this.room + BigInt(packet * ROOM_BYTES), true);
    this.iovecs.setBigUint64(at + IOVEC.length, BigInt(length), true);
  }
}
