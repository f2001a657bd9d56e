import { xchacha20poly1305 } from "@noble/ciphers/chacha.js";

/** In a cookie message, after its type and the receiver's number: a nonce, and a cookie of 16 bytes with its tag. */
const [NONCE_BYTES, SEALED_BYTES] = [24, 32];
export const COOKIE_BYTES = NONCE_BYTES + SEALED_BYTES;

/** The cookie that a server sends in answer to a message with that code (white paper, 5.4.7); null if it is not for it. */
export function cookieIn(bytes: Uint8Array, key: Uint8Array, answered: Uint8Array): Uint8Array | null {
  const [nonce, sealed] = [bytes.subarray(0, NONCE_BYTES), bytes.subarray(NONCE_BYTES)];
  try {
    return xchacha20poly1305(key, nonce, answered).decrypt(sealed);
  } catch {
    return null;
  }
}
