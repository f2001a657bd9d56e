import fc from "fast-check";
import {
  addressOf,
  isHostAddress,
  isHostName,
  lengthOf,
  networkOf,
  prefixOf,
} from "../../src/base/address.ts";
import { publicKeyOf } from "../../src/wireguard/key.ts";
import type { Config } from "../../src/wireguard/schema.ts";
import { cidr, ip } from "../fake/address.ts";

export const key = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => bytes.toBase64())
  .filter((text) => !/^A+=$/.test(text));

const address = fc.oneof(fc.ipV4(), fc.ipV6()).map(ip);

const hostName = fc.domain().filter(isHostName);

const prefix = fc
  .tuple(address, fc.nat(128))
  .map(([own, length]) => cidr(`${own}/${Math.min(length, lengthOf(prefixOf(own)))}`));

/** Any configuration that the gateway accepts, in canonical text. */
export const config: fc.Arbitrary<Config> = fc
  .record({
    interface: fc.record(
      {
        privateKey: key,
        addresses: fc.uniqueArray(
          prefix.filter((own) => isHostAddress(addressOf(own))),
          { minLength: 1, maxLength: 4 },
        ),
        dns: fc.uniqueArray(address, { maxLength: 3 }),
        searchDomains: fc.uniqueArray(hostName, { maxLength: 3 }),
        mtu: fc.integer({ min: 1280, max: 65535 }),
      },
      { requiredKeys: ["privateKey", "addresses", "dns", "searchDomains"] },
    ),
    peer: fc.record(
      {
        publicKey: key,
        presharedKey: key,
        endpoint: fc.record({ host: fc.oneof(address, hostName), port: fc.integer({ min: 1, max: 65535 }) }),
        allowedIps: fc.uniqueArray(
          prefix.map((each) => networkOf(each)),
          { minLength: 1, maxLength: 6 },
        ),
        persistentKeepalive: fc.integer({ min: 0, max: 65535 }),
      },
      { requiredKeys: ["publicKey", "endpoint", "allowedIps"] },
    ),
  })
  .filter((made) => publicKeyOf(made.interface.privateKey) !== made.peer.publicKey);
