import { expect, test } from "bun:test";
import { keyOf, SHADOWSOCKS_BYTES, Shadowsocks } from "../../src/transports/disguises/shadowsocks.ts";

const SALT_BYTES = 32;
const utf8 = (text: string) => new TextEncoder().encode(text);
/** 127.0.0.1:51820, as SOCKS 5 writes it. */
const TO = [1, 127, 0, 0, 1, 0xca, 0x6c];
const shadowsocks = new Shadowsocks();

/** A message of WireGuard's in a buffer with room. */
function message(length: number, type = 4): Uint8Array {
  const bytes = new Uint8Array(2_048).fill(7, 0, length);
  bytes.set([type, 0, 0, 0]);
  return bytes;
}

/** The packet's key, by another implementation: HKDF and AES of the Web Cryptography API. */
async function subkey(salt: Uint8Array<ArrayBuffer>, usage: "encrypt" | "decrypt"): Promise<CryptoKey> {
  const { buffer: master } = Uint8Array.from(keyOf("mullvad"));
  const key = await crypto.subtle.importKey("raw", master, "HKDF", false, ["deriveKey"]);
  const how = { name: "HKDF", hash: "SHA-1", salt, info: utf8("ss-subkey") };
  return crypto.subtle.deriveKey(how, key, { name: "AES-GCM", length: 256 }, false, [usage]);
}

const NONCE = { name: "AES-GCM", iv: new Uint8Array(12) };

async function opened(packet: Uint8Array<ArrayBuffer>): Promise<number[]> {
  const key = await subkey(packet.slice(0, SALT_BYTES), "decrypt");
  return [...new Uint8Array(await crypto.subtle.decrypt(NONCE, key, packet.slice(SALT_BYTES)))];
}

async function sealed(content: readonly number[]): Promise<{ bytes: Uint8Array; length: number }> {
  const salt = crypto.getRandomValues(new Uint8Array(SALT_BYTES));
  const key = await subkey(salt, "encrypt");
  const text = new Uint8Array(await crypto.subtle.encrypt(NONCE, key, Uint8Array.from(content)));
  const bytes = new Uint8Array(2_048);
  bytes.set([...salt, ...text]);
  return { bytes, length: SALT_BYTES + text.length };
}

test("the key is the password's as OpenSSL makes it", () => {
  // Of the tests of go-shadowsocks2.
  expect(keyOf("foobar").toHex()).toBe("3858f62230ac3c915f300c664312c63f568378529614d22ddb49237d2f60bfdf");
});

test.each([32, 148, 1_452])("a message of %i bytes is for the server's own WireGuard", async (length) => {
  const bytes = message(length);
  const whole = shadowsocks.hide(bytes, length);
  expect([whole, SHADOWSOCKS_BYTES]).toEqual([length + 55, 55]);
  expect(await opened(Uint8Array.from(bytes.subarray(0, whole)))).toEqual([
    ...TO,
    ...message(length).subarray(0, length),
  ]);
});

test("what comes back is as the server's WireGuard sent it", async () => {
  const content = message(1_452).subarray(0, 1_452);
  const { bytes, length } = await sealed([...TO, ...content]);
  expect(shadowsocks.show(bytes, length)).toBe(1_452);
  expect(bytes.subarray(0, 1_452)).toEqual(content);
});

test("no two packets have the same salt", () => {
  const salts = Array.from({ length: 100 }, () => {
    const bytes = message(32);
    shadowsocks.hide(bytes, 32);
    return bytes.subarray(0, SALT_BYTES).toHex();
  });
  expect(new Set(salts).size).toBe(100);
});

test("nothing but WireGuard's messages passes, and nothing from elsewhere", async () => {
  for (const [bytes, length] of [
    [message(200, 5), 200],
    [message(31), 31],
    // Without room for what is added.
    [message(2_000), 2_000],
  ] as const)
    expect(shadowsocks.hide(bytes, length)).toBe(0);
  const data = [...message(64).subarray(0, 64)];
  for (const content of [
    [1, 127, 0, 0, 1, 0xca, 0x6d, ...data],
    [1, 10, 0, 0, 1, 0xca, 0x6c, ...data],
    [...TO, ...message(64, 9).subarray(0, 64)],
    [...TO, 4, 0, 0, 0],
  ]) {
    const { bytes, length } = await sealed(content);
    expect(shadowsocks.show(bytes, length)).toBe(0);
  }
  const { bytes, length } = await sealed([...TO, ...data]);
  bytes[50] = (bytes[50] ?? 0) ^ 1;
  expect(shadowsocks.show(bytes, length)).toBe(0);
  expect(shadowsocks.show(message(200), 200)).toBe(0);
  expect(new Shadowsocks("another").show((await sealed([...TO, ...data])).bytes, length)).toBe(0);
});
