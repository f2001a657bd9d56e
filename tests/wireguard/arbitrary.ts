import fc from "fast-check";
import { formatPrefix, isHostAddress, isHostName, networkOf, parsePrefix } from "../../src/address.ts";
import { publicKeyOf } from "../../src/wireguard/key.ts";
import type { Config } from "../../src/wireguard/schema.ts";

export const key = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => bytes.toBase64())
  .filter((text) => !/^A+=$/.test(text));

const ip = fc.oneof(fc.ipV4(), fc.ipV6()).map((text) => prefixOf(text).address);

const hostName = fc.domain().filter(isHostName);

const cidr = fc.tuple(ip, fc.nat(128)).map(([address, length]) => {
  const whole = prefixOf(address);
  return { ...whole, length: Math.min(length, whole.length) };
});

/** Any configuration that the gateway accepts, in canonical text. */
export const config: fc.Arbitrary<Config> = fc
  .record({
    interface: fc.record(
      {
        privateKey: key,
        addresses: fc.uniqueArray(cidr.filter(({ address }) => isHostAddress(address)).map(formatPrefix), {
          minLength: 1,
          maxLength: 4,
        }),
        dns: fc.uniqueArray(ip, { maxLength: 3 }),
        searchDomains: fc.uniqueArray(hostName, { maxLength: 3 }),
        mtu: fc.integer({ min: 1280, max: 65535 }),
      },
      { requiredKeys: ["privateKey", "addresses", "dns", "searchDomains"] },
    ),
    peer: fc.record(
      {
        publicKey: key,
        presharedKey: key,
        endpoint: fc.record({ host: fc.oneof(ip, hostName), port: fc.integer({ min: 1, max: 65535 }) }),
        allowedIps: fc.uniqueArray(
          cidr.map((prefix) => formatPrefix(networkOf(prefix))),
          { minLength: 1, maxLength: 6 },
        ),
        persistentKeepalive: fc.integer({ min: 0, max: 65535 }),
      },
      { requiredKeys: ["publicKey", "endpoint", "allowedIps"] },
    ),
  })
  .filter((made) => publicKeyOf(made.interface.privateKey) !== made.peer.publicKey);

function prefixOf(text: string) {
  const prefix = parsePrefix(text);
  if (prefix === null) throw new Error(`not an address: ${text}`);
  return prefix;
}
