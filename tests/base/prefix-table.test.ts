import { expect, test } from "bun:test";
import {
  contains,
  lengthOf,
  mustParseAddress,
  mustParsePrefix,
  networkOf,
  type Prefix,
} from "../../src/base/address.ts";
import { PrefixTable } from "../../src/base/prefix-table.ts";
import { slow } from "../fast.ts";

const cidr = mustParsePrefix;
const ip = mustParseAddress;

test("the longest prefix that contains an address is found, in either family", () => {
  const table = new PrefixTable(
    new Map([
      [cidr("198.51.0.0/16"), "wide"],
      [cidr("198.51.100.0/24"), "narrow"],
      [cidr("198.51.100.7/32"), "host"],
      [cidr("2001:db8::/32"), "wide six"],
      [cidr("2001:db8:1::/48"), "narrow six"],
    ]),
  );
  expect(table.find(ip("198.51.100.7"))).toEqual({ prefix: cidr("198.51.100.7/32"), value: "host" });
  expect(table.find(ip("198.51.100.8"))?.value).toBe("narrow");
  expect(table.find(ip("198.51.255.255"))?.value).toBe("wide");
  expect(table.find(ip("198.52.0.0"))).toBeNull();
  expect(table.find(ip("2001:db8:1:ffff::1"))?.value).toBe("narrow six");
  expect(table.find(ip("2001:db8:2::1"))?.value).toBe("wide six");
  expect(table.find(ip("2001:db9::"))).toBeNull();
});

slow.test("it finds what a comparison with each prefix finds", () => {
  const byte = () => Math.floor(Math.random() * 256);
  const prefixes = Array.from({ length: 200 }, () =>
    networkOf(cidr(`${byte() % 4}.${byte() % 4}.${byte()}.${byte()}/${1 + (byte() % 32)}`)),
  );
  const table = new PrefixTable(new Map(prefixes.map((prefix) => [prefix, prefix])));
  for (let tries = 0; tries < 500; tries += 1) {
    const address = ip(`${byte() % 4}.${byte() % 4}.${byte()}.${byte()}`);
    const [longest] = prefixes
      .filter((prefix) => contains(prefix, address))
      .sort((one: Prefix, other: Prefix) => lengthOf(other) - lengthOf(one));
    expect(table.find(address)?.value ?? null).toBe(longest ?? null);
  }
});
