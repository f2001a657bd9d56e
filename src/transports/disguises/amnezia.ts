import { randomFillSync } from "node:crypto";
import { blake2s } from "@noble/hashes/blake2.js";
import { TokenBucket } from "../../base/token-bucket.ts";
import type { AmneziaForm, PacketPart } from "../../wireguard/amnezia.ts";
import { isWireGuard, SHORTEST_BYTES } from "../../wireguard/message.ts";
import { COOKIE_BYTES, cookieIn } from "./cookie.ts";
import type { Disguise } from "./disguise.ts";

interface Clock {
  now(): number;
  monotonic(): number;
}
type Range = readonly [from: number, to: number];

/** WireGuard's types of messages (white paper, 5.4). */
const [INITIATION, RESPONSE, COOKIE, DATA] = [1, 2, 3, 4] as const;
type Kind = typeof INITIATION | typeof RESPONSE | typeof COOKIE | typeof DATA;
/** Their lengths; of data, the shortest. */
const BYTES = { 1: 148, 2: 92, 3: 64, 4: SHORTEST_BYTES };
/** Where a handshake has its sender's number, and where an answer has the number of what it answers. */
const SENDER_AT = 4;
const ANSWERED_AT = { [INITIATION]: null, [RESPONSE]: 8, [COOKIE]: 4 };
/** The two codes at the end of both messages of a handshake. */
const MAC_BYTES = 16;
/** This many of each kind are examined; WireGuard itself takes 20 handshakes a second from one address. */
const EXAMINED = { burst: 20, everyMs: 50 };
/** How often a server changes its secret; a cookie is used for less. */
const COOKIE_LIVES_MS = 115_000;

const LETTERS = Buffer.from("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
const DIGITS = Buffer.from("0123456789");

/**
 * AmneziaWG: WireGuard's messages with other types, after random bytes, and a handshake after packets that mean nothing.
 * The codes of a handshake cover the type, so they are made again; that takes public keys only. What is encrypted stays
 * as WireGuard made it.
 */
export class Amnezia implements Disguise {
  private readonly toServer: Uint8Array;
  private readonly toUs: Uint8Array;
  private readonly cookieKey: Uint8Array;
  /** Of the last message of a handshake that was sent: what answers it has the number, and a cookie is for the code. */
  private last: { number: number; code: Uint8Array } | null = null;
  private readonly examined = { [INITIATION]: limit(), [RESPONSE]: limit(), [COOKIE]: limit() };
  private cookie: { bytes: Uint8Array; at: number } | null = null;

  constructor(
    private readonly form: AmneziaForm,
    serverKey: Uint8Array,
    ownKey: Uint8Array,
    private readonly clock: Clock = { now: Date.now, monotonic: () => performance.now() },
  ) {
    this.toServer = labelled("mac1----", serverKey);
    this.toUs = labelled("mac1----", ownKey);
    this.cookieKey = labelled("cookie--", serverKey);
  }

  ahead(bytes: Uint8Array, length: number): Uint8Array<ArrayBuffer>[] {
    if (kindOf(bytes, length) !== INITIATION) return [];
    const { packets, junk } = this.form;
    // As AmneziaWG's module does: at random before each handshake. A count from the start would tell how many there were.
    const first = viewOf(random(4)).getUint32(0);
    const made = packets.map((parts, at) => this.packet(parts, first + at));
    for (let count = 0; count < junk.count; count++) made.push(random(between(junk.least, junk.most)));
    return made.filter(({ length }) => length > 0);
  }

  hide(bytes: Uint8Array, length: number): number {
    const kind = kindOf(bytes, length);
    // A cookie of this end is for codes that the server has not sent. It only makes one when very many handshakes come in.
    if (kind === null || kind === COOKIE) return 0;
    const padding = this.paddingOf(kind);
    if (padding + length > bytes.length) return 0;
    writeType(bytes, between(...this.rangeOf(kind)));
    if (kind !== DATA) this.sign(bytes.subarray(0, length));
    if (padding > 0) {
      bytes.copyWithin(padding, 0, length);
      randomFillSync(bytes.subarray(0, padding));
    }
    return padding + length;
  }

  show(bytes: Uint8Array, length: number): number {
    // Data may be as long as a handshake, and its padding is random: the codes tell what is one.
    for (const kind of [RESPONSE, INITIATION, COOKIE, DATA] as const) {
      const padding = this.paddingOf(kind);
      const message = bytes.subarray(padding, length);
      if (!isOfLength(kind, message.length) || !this.isOf(kind, message)) continue;
      if (kind !== DATA && !this.mayBe(kind, message)) continue;
      if (kind === COOKIE) {
        // It is used here: WireGuard's own code is not what the server has seen.
        if (this.takeCookie(message)) return 0;
        continue;
      }
      if (kind !== DATA && !isSigned(message, this.toUs)) continue;
      writeType(message, kind);
      if (kind !== DATA) resign(message, this.toUs);
      bytes.copyWithin(0, padding, length);
      return message.length;
    }
    return 0;
  }

  private paddingOf(kind: Kind): number {
    return this.form.padding[kind - 1] as number;
  }

  private rangeOf(kind: Kind): Range {
    return this.form.headers[kind - 1] as Range;
  }

  private isOf(kind: Kind, message: Uint8Array): boolean {
    const [from, to] = this.rangeOf(kind);
    const type = viewOf(message).getUint32(0, true);
    return type >= from && type <= to;
  }

  /**
   * Whether a handshake is worth computing codes for. Anybody can send in the server's name, so checking must be
   * cheap: an answer repeats the number of its initiation, which others do not know. Initiations have no such number,
   * and are limited apart from answers.
   */
  private mayBe(kind: Exclude<Kind, typeof DATA>, message: Uint8Array): boolean {
    const at = ANSWERED_AT[kind];
    if (at !== null && viewOf(message).getUint32(at) !== this.last?.number) return false;
    return this.examined[kind].allows(this.clock.monotonic());
  }

  /** With the cookie, too, if the server has sent one lately. */
  private sign(message: Uint8Array): void {
    resign(message, this.toServer);
    const end = message.length - MAC_BYTES;
    this.last = { number: viewOf(message).getUint32(SENDER_AT), code: message.slice(end - MAC_BYTES, end) };
    if (this.cookie !== null && this.clock.monotonic() - this.cookie.at < COOKIE_LIVES_MS)
      message.set(code(message.subarray(0, end), this.cookie.bytes), end);
  }

  private takeCookie(message: Uint8Array): boolean {
    if (this.last === null) return false;
    const bytes = cookieIn(message.subarray(8, 8 + COOKIE_BYTES), this.cookieKey, this.last.code);
    if (bytes !== null) this.cookie = { bytes, at: this.clock.monotonic() };
    return bytes !== null;
  }

  private packet(parts: readonly PacketPart[], counter: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(Buffer.concat(parts.map((part) => this.bytesOf(part, counter))));
  }

  private bytesOf(part: PacketPart, counter: number): Uint8Array {
    if (part.kind === "bytes") return Buffer.from(part.hex, "hex");
    if (part.kind === "time") return number(Math.floor(this.clock.now() / 1_000));
    if (part.kind === "counter") return number(counter);
    const bytes = random(part.count);
    if (part.kind === "random") return bytes;
    const letters = part.kind === "letters" ? LETTERS : DIGITS;
    return bytes.map((byte) => letters[byte % letters.length] as number);
  }
}

/** Null if it is not one of WireGuard's messages. */
function kindOf(bytes: Uint8Array, length: number): Kind | null {
  if (length < SHORTEST_BYTES || !isWireGuard(bytes)) return null;
  const kind = bytes[0] as Kind;
  return isOfLength(kind, length) ? kind : null;
}

function isOfLength(kind: Kind, length: number): boolean {
  return kind === DATA ? length >= BYTES[kind] : length === BYTES[kind];
}

/** Both codes are made again; the second one is empty without a cookie. */
function resign(message: Uint8Array, key: Uint8Array): void {
  const end = message.length - 2 * MAC_BYTES;
  message.set(code(message.subarray(0, end), key), end);
  message.fill(0, end + MAC_BYTES);
}

function isSigned(message: Uint8Array, key: Uint8Array): boolean {
  const end = message.length - 2 * MAC_BYTES;
  return code(message.subarray(0, end), key).every((byte, at) => byte === message[end + at]);
}

function code(bytes: Uint8Array, key: Uint8Array): Uint8Array {
  return blake2s(bytes, { key, dkLen: MAC_BYTES });
}

function labelled(label: string, key: Uint8Array): Uint8Array {
  return blake2s(Buffer.concat([Buffer.from(label), key]));
}

function limit(): TokenBucket {
  return new TokenBucket(EXAMINED.burst, EXAMINED.everyMs);
}

function writeType(bytes: Uint8Array, type: number): void {
  viewOf(bytes).setUint32(0, type, true);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function between(from: number, to: number): number {
  return from + Math.floor(Math.random() * (to - from + 1));
}

function random(count: number): Uint8Array<ArrayBuffer> {
  return randomFillSync(new Uint8Array(count));
}

function number(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value % 2 ** 32);
  return bytes;
}
