import fc from "fast-check";
import {
  addressOf,
  isHostAddress,
  isHostName,
  lengthOf,
  networkOf,
  prefixOf,
} from "../../src/base/address.ts";
import type { Amnezia } from "../../src/wireguard/amnezia-schema.ts";
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

const packet = fc
  .array(fc.constantFrom("<b 0xc0ff>", "<r 10>", "<rc 3>", "<rd 1>", "<t>", "<c>"), {
    minLength: 1,
    maxLength: 9,
  })
  .map((tags) => tags.join(""));

/** Each kind of messages has a range of its own. */
const types = (from: number) =>
  fc
    .tuple(fc.nat(9), fc.nat(9))
    .map(([at, more]) => (more === 0 ? `${from + at}` : `${from + at}-${from + at + more}`));

const amnezia: fc.Arbitrary<Amnezia> = fc
  .record(
    {
      ...{ jmin: fc.integer({ min: 0, max: 100 }), jmax: fc.integer({ min: 100, max: 1280 }) },
      ...{ s1: fc.nat(50), s2: fc.nat(50), s3: fc.nat(1279), s4: fc.nat(140) },
      ...{ h1: types(100), h2: types(200), h3: types(300), h4: types(4_200_000_000) },
      ...{ i1: packet, i5: packet },
    },
    { requiredKeys: ["s1"] },
  )
  .map((made) =>
    made.jmin !== undefined && made.jmax !== undefined ? { ...made, jc: made.jmax % 129 } : made,
  );

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
        amnezia,
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
