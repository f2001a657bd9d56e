import { isWireGuard, SHORTEST_BYTES } from "../../wireguard/message.ts";

/**
 * Datagrams in a stream: each comes after its length, two bytes, the first one the higher (mullvad/udp-over-tcp). Only
 * WireGuard's packets pass, in both directions.
 */
const HEADER_BYTES = 2;
/** Enough to see the type of a message. */
const TYPE_BYTES = 4;
const NOTHING = new Uint8Array(0);

/** Takes datagrams out of a stream. */
export class Unframer {
  private rest: Uint8Array = NOTHING;

  /** Calls back with each whole datagram. False if this is not such a stream: then the rest is meaningless. */
  take(chunk: Uint8Array, onDatagram: (datagram: Uint8Array) => void): boolean {
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    let at = 0;
    while (bytes.length - at >= HEADER_BYTES + TYPE_BYTES) {
      const length = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
      const begin = at + HEADER_BYTES;
      if (length < SHORTEST_BYTES || !isWireGuard(bytes, begin)) return false;
      if (bytes.length - begin < length) break;
      onDatagram(bytes.subarray(begin, begin + length));
      at = begin + length;
    }
    // At most one datagram.
    this.rest = at === bytes.length ? NOTHING : bytes.slice(at);
    return true;
  }
}

/** Datagrams that wait for the stream, in a buffer of a fixed size. */
export class Outbox {
  private readonly bytes: Uint8Array;
  private begin = 0;
  private end = 0;

  constructor(sizeBytes: number) {
    this.bytes = new Uint8Array(sizeBytes);
  }

  /** False if there is no room: the datagram is dropped, as a full link would do. */
  add(datagram: Uint8Array): boolean {
    const needed = HEADER_BYTES + datagram.length;
    if (this.end + needed > this.bytes.length) this.moveUp();
    if (this.end + needed > this.bytes.length) return false;
    this.bytes[this.end] = datagram.length >> 8;
    this.bytes[this.end + 1] = datagram.length & 0xff;
    this.bytes.set(datagram, this.end + HEADER_BYTES);
    this.end += needed;
    return true;
  }

  get waiting(): Uint8Array {
    return this.bytes.subarray(this.begin, this.end);
  }

  /** This many bytes of what waits have been taken. */
  taken(count: number): void {
    this.begin += count;
    if (this.begin === this.end) this.clear();
  }

  clear(): void {
    this.begin = 0;
    this.end = 0;
  }

  private moveUp(): void {
    this.bytes.copyWithin(0, this.begin, this.end);
    this.end -= this.begin;
    this.begin = 0;
  }
}
