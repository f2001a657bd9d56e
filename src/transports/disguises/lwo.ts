import { isWireGuard } from "../../wireguard/message.ts";
import type { Disguise } from "./disguise.ts";

/** Of the header of each message, by its type; in data, what follows is encrypted (WireGuard white paper, 5.4). */
const HEADER_BYTES: Readonly<Record<number, number>> = { 1: 148, 2: 92, 3: 64, 4: 32 };
/** In the first of the three bytes that WireGuard leaves zero: the packet is hidden. */
const HIDDEN = 0x80;

/**
 * Lightweight WireGuard obfuscation, as Mullvad's servers understand it (mullvadvpn-app, tunnel-obfuscation): the
 * header is XORed with the receiver's public key. It hides the packets from filters that look for WireGuard's bytes,
 * not from anyone who knows the key.
 */
export class Lwo implements Disguise {
  constructor(
    private readonly serverKey: Uint8Array,
    private readonly ownKey: Uint8Array,
  ) {}

  hide(bytes: Uint8Array, length: number): number {
    const header = headerBytes(bytes[0] ?? 0, length);
    if (header === 0 || !isWireGuard(bytes)) return 0;
    xor(bytes, header, this.serverKey);
    bytes[1] = HIDDEN | (Math.random() * HIDDEN);
    return length;
  }

  show(bytes: Uint8Array, length: number): number {
    const { ownKey } = this;
    const header = headerBytes((bytes[0] ?? 0) ^ (ownKey[0] ?? 0), length);
    if (header === 0 || ((bytes[1] ?? 0) & HIDDEN) === 0) return 0;
    xor(bytes, header, ownKey);
    bytes[1] = 0;
    return isWireGuard(bytes) ? length : 0;
  }
}

/** 0 if a message of that type cannot be this short. */
function headerBytes(type: number, length: number): number {
  const bytes = HEADER_BYTES[type] ?? 0;
  return length < bytes ? 0 : bytes;
}

function xor(bytes: Uint8Array, count: number, key: Uint8Array): void {
  for (let at = 0; at < count; at++) bytes[at] = (bytes[at] ?? 0) ^ (key[at % key.length] ?? 0);
}
