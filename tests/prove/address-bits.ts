import { bytesOf, mustParseAddress } from "../../src/base/address.ts";

/** An address as the number that a packet has. */
export function addressBits(word: string): bigint {
  return bytesOf(mustParseAddress(word)).reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
}
