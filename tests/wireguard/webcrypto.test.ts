import { expect, test } from "bun:test";
import { generateKeyPair, publicKeyOf } from "../../src/wireguard/key.ts";
import { publicKeyIn } from "../../src/wireguard/webcrypto.ts";

test("a public key is the same beside the event loop", async () => {
  // The first is not clamped.
  for (const key of [new Uint8Array(32).fill(255).toBase64(), generateKeyPair().privateKey])
    expect(await publicKeyIn(key)).toBe(publicKeyOf(key));
});
