import type { Mac } from "../base/mac.ts";

/**
 * The hash of a MAC address as `jhash ether saddr mod … seed …` of nftables: Bob Jenkins' lookup3, whose result the
 * kernel scales to the modulus (`jhash` and `reciprocal_scale` in Linux).
 */
export function jhashOf(mac: Mac, { modulus, seed }: { modulus: number; seed: number }): number {
  const bytes = Uint8Array.fromHex(mac.replaceAll(":", ""));
  const words = new DataView(bytes.buffer);
  const start = 0xdeadbeef + bytes.length + seed;
  const hash = final(start + words.getUint32(0, true), start + words.getUint16(4, true), start);
  return Number((BigInt(hash) * BigInt(modulus)) >> 32n);
}

function final(first: number, second: number, third: number): number {
  let [a, b, c] = [first | 0, second | 0, third | 0];
  c = (c ^ b) - rotated(b, 14);
  a = (a ^ c) - rotated(c, 11);
  b = (b ^ a) - rotated(a, 25);
  c = (c ^ b) - rotated(b, 16);
  a = (a ^ c) - rotated(c, 4);
  b = (b ^ a) - rotated(a, 14);
  c = (c ^ b) - rotated(b, 24);
  return c >>> 0;
}

function rotated(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}
