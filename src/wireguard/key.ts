import { x25519 } from "@noble/curves/ed25519.js";

export interface KeyPair {
  privateKey: string;
  publicKey: string;
}

/** A new pair, clamped as by `wg genkey`. */
export function generateKeyPair(): KeyPair {
  return keyPairFrom(x25519.utils.randomSecretKey());
}

/** The pair of 32 secret bytes. */
export function keyPairFrom(bytes: Uint8Array): KeyPair {
  const secret = clamped(bytes);
  return { privateKey: textOf(secret), publicKey: textOf(x25519.getPublicKey(secret)) };
}

/** What `wg pubkey` prints for a private key that `isKey` accepts. */
export function publicKeyOf(privateKey: string): string {
  return textOf(x25519.getPublicKey(Uint8Array.fromBase64(privateKey)));
}

/** Base64 as browsers of 2024 can make it too. */
function textOf(key: Uint8Array): string {
  return btoa(String.fromCharCode(...key));
}

/** RFC 7748 section 5, `decodeScalar25519`. */
function clamped(key: Uint8Array): Uint8Array {
  const [first = 0, last = 0] = [key[0], key[31]];
  key[0] = first & 0b1111_1000;
  key[31] = (last & 0b0111_1111) | 0b0100_0000;
  return key;
}
