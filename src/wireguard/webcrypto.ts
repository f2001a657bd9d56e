/** In front of the 32 bytes of a private key (RFC 8410, section 7). */
export const PKCS8 = Uint8Array.fromHex("302e020100300506032b656e04220420");
export const X25519 = "X25519";

/**
 * The same as `publicKeyOf`, but beside the event loop, which that one holds up for a tenth of a second the first time.
 * Browsers of 2024, and those who cannot wait, need that one.
 */
export async function publicKeyIn(privateKey: string): Promise<string> {
  const encoded = Uint8Array.from([...PKCS8, ...Uint8Array.fromBase64(privateKey)]);
  const key = await crypto.subtle.importKey("pkcs8", encoded, X25519, true, ["deriveBits"]);
  encoded.fill(0);
  const { x = "" } = await crypto.subtle.exportKey("jwk", key);
  return Uint8Array.fromBase64(x, { alphabet: "base64url" }).toBase64();
}
