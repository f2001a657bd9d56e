import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  addressOf,
  contains,
  familyOf,
  isHostName,
  isIpv4,
  isIpv6,
  isPrivate,
  isPublic,
  lengthOf,
  networkOf,
  parseAddress,
  parseHostName,
  parsePrefix,
  prefixOf,
  unmapped,
} from "../../src/base/address.ts";
import { cidr, ip } from "../fake/address.ts";

test.each([
  [ip("192.0.2.1"), 4],
  [cidr("192.0.2.0/24"), 4],
  [ip("::1"), 6],
  [cidr("::/0"), 6],
  [ip("::ffff:192.0.2.1"), 6],
] as const)("the family of %s is %d", (text, family) => {
  expect(familyOf(text)).toBe(family);
});

test("text has to be parsed first, and a constant that cannot be parsed is an error", () => {
  // @ts-expect-error
  expect(familyOf("192.0.2.1")).toBe(4);
  // @ts-expect-error
  expect(isPrivate("10.0.0.1")).toBeTrue();
  expect(() => ip("192.0.2.1/32")).toThrow('"192.0.2.1/32" is not an address or prefix');
  expect(() => cidr("192.0.2.0/33")).toThrow('"192.0.2.0/33" is not an address or prefix');
});

describe("addresses", () => {
  test.each([
    ["192.0.2.1", "192.0.2.1"],
    ["2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["0:0:0:0:0:0:0:0", "::"],
    ["::ffff:c000:201", "::ffff:192.0.2.1"],
    ["::192.0.2.1", "::c000:201"],
  ])("%s is written %s", (text, canonical) => {
    expect<string | null>(parseAddress(text)).toBe(canonical);
  });

  test.each([
    "",
    " 1.2.3.4",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.256",
    "01.2.3.4",
    "0x1.2.3.4",
    "1.2.3.4\n",
    "16909060",
    "1.2.3.4%eth0",
    "fe80::1%eth0",
    "[::1]",
    ":::",
    "1::2::3",
    "12345::",
    "::1.2.3.04",
    "１.2.3.4",
  ])("%j is no address", (text) => {
    expect(parseAddress(text)).toBeNull();
    expect(isIpv4(text) || isIpv6(text)).toBeFalse();
  });

  test("the canonical text is a fixed point, and any spelling of an address leads to it", () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const canonical = parseAddress(text);
        expect(canonical).toBeString();
        expect(parseAddress(canonical as string)).toBe(canonical);
        expect(parseAddress(text.toUpperCase())).toBe(canonical);
      }),
    );
  });

  test("an IPv4 address inside IPv6 is unmapped, and nothing else is changed", () => {
    expect(["::ffff:10.0.0.1", "::FFFF:a00:1", "10.0.0.1", "::1"].map(ip).map(unmapped)).toEqual(
      ["10.0.0.1", "10.0.0.1", "10.0.0.1", "::1"].map(ip),
    );
  });
});

describe("prefixes", () => {
  test.each([
    ["10.64.0.2/24", { address: "10.64.0.2", length: 24, family: 4 }, "10.64.0.0/24"],
    ["10.64.0.2", { address: "10.64.0.2", length: 32, family: 4 }, "10.64.0.2/32"],
    ["203.0.113.255/25", { address: "203.0.113.255", length: 25, family: 4 }, "203.0.113.128/25"],
    ["1.2.3.4/0", { address: "1.2.3.4", length: 0, family: 4 }, "0.0.0.0/0"],
    ["FD00::2", { address: "fd00::2", length: 128, family: 6 }, "fd00::2/128"],
    ["fd00:ffff::2/17", { address: "fd00:ffff::2", length: 17, family: 6 }, "fd00:8000::/17"],
    ["::1/0", { address: "::1", length: 0, family: 6 }, "::/0"],
  ] as const)("%s keeps its host bits until its network is asked for", (text, parsed, network) => {
    const prefix = cidr(text);
    expect<unknown>({
      address: addressOf(prefix),
      length: lengthOf(prefix),
      family: familyOf(prefix),
    }).toEqual(parsed);
    expect<string>(networkOf(prefix)).toBe(network);
  });

  test.each([
    "10.0.0.0/33",
    "::/129",
    "10.0.0.0/",
    "10.0.0.0/08",
    "10.0.0.0/+8",
    "10.0.0.0/ 8",
    "10.0.0.0/8/8",
    "10.0.0.0/-1",
    "10.0.0.0/255.0.0.0",
    "10.0.0.0/1e1",
    "/8",
    "10/8",
    "example.com/8",
  ])("%j is no prefix", (text) => {
    expect(parsePrefix(text)).toBeNull();
  });

  test("a prefix contains its own address, and its network differs in the host bits only", () => {
    const lengths = fc.tuple(fc.oneof(fc.ipV4(), fc.ipV6()), fc.nat(128));
    fc.assert(
      fc.property(lengths, ([text, length]) => {
        const address = ip(text);
        const network = networkOf(prefixOf(address), Math.min(length, lengthOf(prefixOf(address))));
        expect(contains(network, address)).toBe(unmapped(address) === address);
        expect(networkOf(network)).toBe(network);
      }),
    );
  });

  test("an address outside is not contained, nor one of the other family", () => {
    expect(contains(cidr("10.0.0.0/8"), ip("11.0.0.0"))).toBeFalse();
    expect(contains(cidr("0.0.0.0/0"), ip("::1"))).toBeFalse();
    expect(contains(cidr("::/0"), ip("10.0.0.1"))).toBeFalse();
    expect(contains(cidr("10.0.0.0/8"), ip("::ffff:10.1.2.3"))).toBeTrue();
  });

  test("an IPv4 address is in a network if its own network of that length is the same", () => {
    // A bit at a time, so that all lengths are at their edges.
    const pairs = fc.tuple(fc.ipV4(), fc.nat(31), fc.nat(32));
    fc.assert(
      fc.property(pairs, ([text, bit, length]) => {
        const bytes = text.split(".").map(Number);
        const other = bytes.map((byte, at) => (at === bit >> 3 ? byte ^ (0x80 >> (bit & 7)) : byte));
        const network = networkOf(prefixOf(ip(text)), length);
        expect(contains(network, ip(text))).toBeTrue();
        expect(contains(network, ip(other.join(".")))).toBe(bit >= length);
      }),
    );
  });
});

describe("private addresses", () => {
  test.each([
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.0.1",
    "fc00::1",
    "fdff::1",
    "fe80::1",
    "febf::1",
  ])("%s is private, also for a dual-stack socket", (text) => {
    expect(isPrivate(ip(text))).toBeTrue();
    if (isIpv4(text)) expect(isPrivate(ip(`::ffff:${text}`))).toBeTrue();
  });

  test.each([
    "9.255.255.255",
    "11.0.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.1.1",
    "100.64.0.1",
    "127.0.0.1",
    "169.253.255.255",
    "::1",
    "fec0::1",
    "2001:db8::1",
    "::ffff:8.8.8.8",
  ])("%s is not", (text) => {
    expect(isPrivate(ip(text))).toBeFalse();
  });
});

test("an address is public if anyone on the internet can send to it", () => {
  const all = [
    ...["8.8.8.8", "100.63.0.1", "100.128.0.1", "223.255.255.254", "203.0.113.2", "198.20.0.1", "192.0.1.1"],
    ...["2a00::1", "2001:db8::1", "::ffff:8.8.8.8"],
  ];
  const none = [
    ...["0.0.0.1", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "169.254.0.1", "172.16.0.1"],
    ...[
      "192.0.0.8",
      "192.168.1.1",
      "198.18.0.1",
      "198.19.255.255",
      "224.0.0.1",
      "240.0.0.1",
      "255.255.255.255",
    ],
    ...["::", "::1", "fe80::1", "fd00::1", "ff02::1", "100::1", "64:ff9b::808:808", "::ffff:240.0.0.1"],
  ];
  expect([...all, ...none].filter((text) => isPublic(ip(text)))).toEqual(all);
});

describe("host names", () => {
  test.each([
    "a",
    "localhost",
    "vpn.example.com",
    "xn--bcher-kva.example",
    "1.2.3.4x",
    "3com.com",
    "a--b",
    "A.B",
  ])("%s is a host name", (text) => {
    expect(isHostName(text)).toBeTrue();
    expect<string | null>(parseHostName(text)).toBe(text.toLowerCase());
  });

  test("63 characters a label and 253 in all are the most", () => {
    const label = "a".repeat(63);
    expect(isHostName(label)).toBeTrue();
    expect(isHostName(`${label}a`)).toBeFalse();
    expect(isHostName([label, label, label, "a".repeat(61)].join("."))).toBeTrue();
    expect(isHostName([label, label, label, "a".repeat(62)].join("."))).toBeFalse();
  });

  test.each([
    "",
    ".",
    "a.",
    ".a",
    "a..b",
    "-a",
    "a-",
    "a_b",
    "a b",
    "a\n",
    "bücher.example",
    "\u212Aelvin.example",
    "1.2.3.4",
    "999.1.1.1",
    "example.1",
    "127.0.0.0x1",
    "0x7f000001",
    "::1",
  ])("%j is none", (text) => {
    expect(isHostName(text)).toBeFalse();
    expect(parseHostName(text)).toBeNull();
  });
});
