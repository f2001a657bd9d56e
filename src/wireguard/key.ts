import { x25519 } from "@noble/curves/ed25519.js";

export interface KeyPair {
  privateKey: string;
  publicKey: string;
}

/** A new pair, clamped as by `wg genkey`. */
export function generateKeyPair(): KeyPair {
  const privateKey = clamped(x25519.utils.randomSecretKey()).toBase64();
  return { privateKey, publicKey: publicKeyOf(privateKey) };
}

/** What `wg pubkey` prints for a private key that `isKey` accepts. */
export function publicKeyOf(privateKey: string): string {
  return x25519.getPublicKey(Uint8Array.fromBase64(privateKey)).toBase64();
}

/** RFC 7748 section 5, `decodeScalar25519`. */
function clamped(key: Uint8Array): Uint8Array {
  const [first = 0, last = 0] = [key[0], key[31]];
  key[0] = first & 0b1111_1000;
  key[31] = (last & 0b0111_1111) | 0b0100_0000;
  return key;
}
