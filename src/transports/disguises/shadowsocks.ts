import { createCipheriv, createDecipheriv, createHash, createHmac, randomFillSync } from "node:crypto";
import { isWireGuard, SHORTEST_BYTES } from "../../wireguard/message.ts";
import type { Disguise } from "./disguise.ts";

/** Of Mullvad's servers, in the code of its app: the content is encrypted by WireGuard, so it need not be a secret. */
const PASSWORD = "mullvad";
const [KEY_BYTES, SALT_BYTES, TAG_BYTES] = [32, 32, 16];
const CIPHER = "aes-256-gcm";
/** Each packet has a key of its own. */
const NONCE = new Uint8Array(12);
const INFO = "ss-subkey";
/**
 * Where the server sends what it has decrypted: to its own WireGuard, 127.0.0.1:51820. A kind of address (1 is IPv4), the
 * address, and the port, as in SOCKS 5 (RFC 1928, section 5).
 */
const TO_WIREGUARD = Uint8Array.of(1, 127, 0, 0, 1, 51_820 >> 8, 51_820 & 0xff);

/** Bytes that it adds to a packet. */
export const SHADOWSOCKS_BYTES = SALT_BYTES + TO_WIREGUARD.length + TAG_BYTES;

/**
 * Shadowsocks over UDP (SIP004, AEAD): nothing in a packet can be distinguished from random bytes without the
 * password.
 */
export class Shadowsocks implements Disguise {
  private readonly key: Uint8Array;

  constructor(password = PASSWORD) {
    this.key = keyOf(password);
  }

  hide(bytes: Uint8Array, length: number): number {
    const whole = length + SHADOWSOCKS_BYTES;
    if (length < SHORTEST_BYTES || !isWireGuard(bytes) || whole > bytes.length) return 0;
    const salt = randomFillSync(new Uint8Array(SALT_BYTES));
    const cipher = createCipheriv(CIPHER, subkeyOf(this.key, salt), NONCE);
    const address = cipher.update(TO_WIREGUARD);
    const content = cipher.update(bytes.subarray(0, length));
    cipher.final();
    bytes.set(salt);
    bytes.set(address, SALT_BYTES);
    bytes.set(content, SALT_BYTES + address.length);
    bytes.set(cipher.getAuthTag(), whole - TAG_BYTES);
    return whole;
  }

  show(bytes: Uint8Array, length: number): number {
    const content = length - SHADOWSOCKS_BYTES;
    if (content < SHORTEST_BYTES) return 0;
    const packet = this.decrypted(bytes.subarray(0, length));
    const isMeant = packet !== null && TO_WIREGUARD.every((byte, at) => packet[at] === byte);
    if (!isMeant || !isWireGuard(packet, TO_WIREGUARD.length)) return 0;
    bytes.set(packet.subarray(TO_WIREGUARD.length));
    return content;
  }

  /** Null if it is not from a server with the password. */
  private decrypted(bytes: Uint8Array): Uint8Array | null {
    const decipher = createDecipheriv(CIPHER, subkeyOf(this.key, bytes.subarray(0, SALT_BYTES)), NONCE);
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(SALT_BYTES, -TAG_BYTES)), decipher.final()]);
    } catch {
      return null;
    }
  }
}

/** EVP_BytesToKey of OpenSSL, with MD5 and without a salt. */
export function keyOf(password: string): Uint8Array {
  const first = createHash("md5").update(password).digest();
  const second = createHash("md5").update(first).update(password).digest();
  return Buffer.concat([first, second]);
}

/** HKDF with SHA-1 (RFC 5869), of which two blocks are needed. */
function subkeyOf(key: Uint8Array, salt: Uint8Array): Uint8Array {
  const secret = createHmac("sha1", salt).update(key).digest();
  const first = createHmac("sha1", secret).update(INFO).update(Uint8Array.of(1)).digest();
  const second = createHmac("sha1", secret).update(first).update(INFO).update(Uint8Array.of(2)).digest();
  return Buffer.concat([first, second]).subarray(0, KEY_BYTES);
}
