import { expect, test } from "bun:test";
import fc from "fast-check";
import { generateKeyPair, publicKeyOf } from "../../src/wireguard/key.ts";
import { isKey } from "../../src/wireguard/key-text.ts";
import { slow } from "../fast.ts";

const wg = Bun.which("wg");

test.each([
  [
    "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
    "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
  ],
  [
    "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
    "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
  ],
])("the private key %s of RFC 7748 section 6.1 has the public key printed there", (secret, shared) => {
  expect(publicKeyOf(Uint8Array.fromHex(secret).toBase64())).toBe(Uint8Array.fromHex(shared).toBase64());
});

test("a generated pair matches, is clamped, and never repeats", () => {
  const pairs = Array.from({ length: 50 }, generateKeyPair);
  for (const { privateKey, publicKey } of pairs) {
    const bytes = Uint8Array.fromBase64(privateKey);
    expect([isKey(privateKey), isKey(publicKey), publicKeyOf(privateKey)]).toEqual([true, true, publicKey]);
    expect([(bytes[0] ?? 0) & 7, (bytes[31] ?? 0) & 192]).toEqual([0, 64]);
  }
  expect(new Set(pairs.map((pair) => pair.privateKey)).size).toBe(50);
});

slow.test.skipIf(wg === null)(
  "200 generated pairs agree with wg pubkey",
  () => {
    for (let count = 0; count < 200; count++) {
      const { privateKey, publicKey } = generateKeyPair();
      const printed = Bun.spawnSync(["wg", "pubkey"], { stdin: Buffer.from(`${privateKey}\n`) });
      expect(printed.stdout.toString().trim()).toBe(publicKey);
    }
  },
  180_000,
);

test("32 bytes in base64 are a key, unless all are zero", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      expect(isKey(bytes.toBase64())).toBe(bytes.some((byte) => byte !== 0));
    }),
  );
  expect(isKey(new Uint8Array(32).toBase64())).toBeFalse();
});

const KEY = "6Pc+qVyD2KAK//yjhmYHvVIlxUxCtNaU66Nmn/3Cd3M=";

test.each([
  ["empty text", ""],
  ["31 bytes", new Uint8Array(31).fill(7).toBase64()],
  ["33 bytes", new Uint8Array(33).fill(7).toBase64()],
  ["no padding", KEY.slice(0, 43)],
  ["a second padding", `${KEY}=`],
  ["a line end", `${KEY}\n`],
  ["a space inside", `${KEY.slice(0, 10)} ${KEY.slice(11)}`],
  ["bits that belong to no byte", KEY.replace("M=", "N=")],
  ["the URL alphabet", KEY.replaceAll("/", "_").replaceAll("+", "-")],
  ["hexadecimal", Uint8Array.fromBase64(KEY).toHex()],
])("%s is no key", (_, text) => {
  expect(isKey(KEY)).toBeTrue();
  expect(isKey(text)).toBeFalse();
});
