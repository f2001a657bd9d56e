import { expect, test } from "bun:test";
import { networkOf } from "../../src/base/address.ts";
import { settingsFrom } from "../../src/base/settings.ts";
import { type LanFacts, servedLans } from "../../src/dhcp/lans.ts";
import type { HostNetwork } from "../../src/network/host-network.ts";
import { cidr, ip } from "../fake/address.ts";
import { ONE_CABLE, TWO_CABLES } from "../install/example.ts";

const ULA = "fd12:3456:789a::/48";

function served(
  dhcp: string,
  { network, facts }: { network: HostNetwork; facts: LanFacts } = ONE_CABLE,
  lan = "",
) {
  return servedLans(network, facts, settingsFrom({ dhcp, ula: ULA, lan }));
}

/** A machine with one address. */
function alone(
  prefix: string,
  routers: string[] = [],
  isLeased = false,
): { network: HostNetwork; facts: LanFacts } {
  const lans = [{ interface: "eth0", prefixes: [networkOf(cidr(prefix)), cidr("fe80::/10")] }];
  return {
    network: { ...ONE_CABLE.network, lans },
    facts: { addresses: [{ interface: "eth0", prefix: cidr(prefix), isLeased }], routers: routers.map(ip) },
  };
}

function refusal(dhcp: string, machine?: { network: HostNetwork; facts: LanFacts }): string {
  try {
    served(dhcp, machine);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

test("without DHCP nothing is served", () => {
  expect(served("off")).toEqual([]);
});

test("one LAN interface gets the usual range, and an address in the unique local prefix", () => {
  expect(served("on")).toEqual([
    {
      interface: "eth0",
      prefix: cidr("192.168.7.0/24"),
      range: { from: ip("192.168.7.100"), to: ip("192.168.7.249") },
      ula: cidr("fd12:3456:789a:9c32::1/64"),
    },
  ]);
});

test("each of several LAN interfaces gets a range without the gateway's own address", () => {
  expect(served("on", TWO_CABLES).map(({ interface: name, prefix, range }) => [name, prefix, range])).toEqual(
    [
      ["eth1", cidr("192.168.7.0/24"), { from: ip("192.168.7.121"), to: ip("192.168.7.249") }],
      ["br-lan.5", cidr("10.5.0.0/16"), { from: ip("10.5.0.100"), to: ip("10.5.0.249") }],
    ],
  );
});

test("named ranges serve the interfaces that they lie in, and no others", () => {
  const both = served("10.5.9.0-10.5.9.255, 192.168.7.10-192.168.7.20", TWO_CABLES);
  expect(both.map(({ interface: name, range }) => [name, range])).toEqual([
    ["br-lan.5", { from: ip("10.5.9.0"), to: ip("10.5.9.255") }],
    ["eth1", { from: ip("192.168.7.10"), to: ip("192.168.7.20") }],
  ]);
  expect(served("192.168.7.110-192.168.7.130", TWO_CABLES).map((lan) => lan.interface)).toEqual(["eth1"]);
});

test("a kernel without IPv6 gets no IPv6 address", () => {
  const network = { ...ONE_CABLE.network, ipv6: "off" as const };
  expect(served("on", { ...ONE_CABLE, network }).map(({ ula }) => ula)).toEqual([null]);
});

test("in a small network the usual range is the upper half, if that is enough", () => {
  expect(served("on", alone("192.168.1.129/25"))[0]?.range).toEqual({
    from: ip("192.168.1.192"),
    to: ip("192.168.1.254"),
  });
  expect(refusal("on", alone("192.168.1.1/29"))).toBe(
    "--dhcp: 192.168.1.4-192.168.1.6 is too small: give at least 4 addresses",
  );
});

test("the usual range leaves out the home router", () => {
  expect(served("on", alone("192.168.1.2/24", ["192.168.1.240"]))[0]?.range).toEqual({
    from: ip("192.168.1.100"),
    to: ip("192.168.1.239"),
  });
});

test.each([
  [
    "192.168.8.10-192.168.8.20",
    "192.168.8.10-192.168.8.20 is outside the LAN; choose addresses from 192.168.7.0/24 on eth0",
  ],
  [
    "192.168.7.200-192.168.8.20",
    "192.168.7.200-192.168.8.20 is outside the LAN; choose addresses from 192.168.7.0/24 on eth0",
  ],
  ["192.168.7.20-192.168.7.10", "192.168.7.20-192.168.7.10 is reversed: give the lower address first"],
  ["192.168.7.20-192.168.7.22", "192.168.7.20-192.168.7.22 is too small: give at least 4 addresses"],
  [
    "192.168.7.20-192.168.7.256",
    "192.168.7.20-192.168.7.256 is not a range; write it as 192.168.1.100-192.168.1.199",
  ],
  [
    "192.168.7.0-192.168.7.100",
    "192.168.7.0-192.168.7.100 contains the first or the last address of 192.168.7.0/24, which no device can have",
  ],
  [
    "192.168.7.200-192.168.7.255",
    "192.168.7.200-192.168.7.255 contains the first or the last address of 192.168.7.0/24, which no device can have",
  ],
  [
    "192.168.7.1-192.168.7.99",
    "192.168.7.1-192.168.7.99 contains the home router's address 192.168.7.1; choose a range without it",
  ],
  ["192.168.7.10-192.168.7.20,192.168.7.30-192.168.7.40", "eth0 has several ranges; give it one"],
])("the range %s is refused, and the message says what to do", (range, message) => {
  expect(refusal(range)).toBe(`--dhcp: ${message}`);
});

test("an address that another DHCP server has leased is refused: it would be lost with that server", () => {
  expect(refusal("on", alone("192.168.1.2/24", ["192.168.1.1"], true))).toBe(
    "--dhcp: eth0 has 192.168.1.2 from another DHCP server and would lose it when that is off; give eth0 a fixed address first, with the home router as its router",
  );
});

test("a network that two interfaces have is refused", () => {
  const { network, facts } = alone("192.168.1.2/24");
  const addresses = [
    ...facts.addresses,
    { interface: "wan0", prefix: cidr("192.168.1.30/24"), isLeased: true },
  ];
  expect(refusal("on", { network, facts: { ...facts, addresses } })).toBe(
    "--dhcp: eth0 (192.168.1.2/24) and wan0 (192.168.1.30/24) have addresses of one network; give one of them another network first",
  );
});

test("a LAN interface without an IPv4 address is refused", () => {
  const { network } = ONE_CABLE;
  expect(refusal("on", { network, facts: { addresses: [], routers: [] } })).toBe(
    "--dhcp: eth0 has no private IPv4 address; connect its cable, or give it a fixed address first",
  );
});

test("a LAN interface that the settings name and that has no address now is not left out without a word", () => {
  const named = "eth1,br-lan.5,wlan0";
  expect(() => served("on", TWO_CABLES, named)).toThrow(
    "--dhcp: wlan0 has no private IPv4 address; connect its cable, or give it a fixed address first",
  );
  expect(served("10.5.9.0-10.5.9.255", TWO_CABLES, named).map((lan) => lan.interface)).toEqual(["br-lan.5"]);
});

test.each(["fd1::/48", "fd12:3456:789a:1::/48", "fd:1:::/48", "fd12:3456:789a::/64", "2001:db8::/48"])(
  "the IPv6 prefix %s is a usage error: it is not a unique local one of 48 bits",
  (ula) => {
    expect(() => settingsFrom({ ula })).toThrow(/^--ula \(PORTCULLIS_ULA\): /);
  },
);

test.each(["yes", "192.168.7.10", "fd00::1-fd00::9", "on,off"])("the setting %s is a usage error", (dhcp) => {
  expect(() => settingsFrom({ dhcp })).toThrow(/^--dhcp \(PORTCULLIS_DHCP\): /);
});
