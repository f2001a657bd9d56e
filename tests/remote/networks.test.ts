import { expect, test } from "bun:test";
import { contains } from "../../src/base/address.ts";
import { addressesIn, chosenNetworks, freeNumber, gatewayIn } from "../../src/remote/networks.ts";
import { cidr, ip } from "../fake/address.ts";

const ULA = "fd12:3456:789a::/48";
const NETWORKS = { ipv4: cidr("10.200.7.0/24"), ipv6: cidr("fd12:3456:789a:1::/64") };

test("the networks are a /24 of 10.0.0.0/8 and a /64 of the installation's own prefix", () => {
  const { ipv4, ipv6 } = chosenNetworks(ULA, () => true) ?? NETWORKS;
  expect(ipv4).toMatch(/^10\.\d+\.\d+\.0\/24$/);
  expect(contains(cidr(ULA), ip(ipv6.replace("/64", "1")))).toBe(true);
  expect(ipv6).toEndWith("::/64");
});

test("a network that something else has is not chosen, and there may be none", () => {
  const taken = cidr("10.128.0.0/10");
  const found = chosenNetworks(ULA, (prefix) => !contains(taken, ip(prefix.replace(/\/.*/, "") || "::")));
  expect(contains(taken, ip(found?.ipv4.replace("/24", "") ?? "10.128.0.0"))).toBe(false);
  expect(chosenNetworks(ULA, () => false)).toBeNull();
});

test("the gateway has the first address of each, and a device the one of its number", () => {
  expect(gatewayIn(NETWORKS)).toEqual([ip("10.200.7.1"), ip("fd12:3456:789a:1::1")]);
  expect(addressesIn(NETWORKS, 17)).toEqual([ip("10.200.7.17"), ip("fd12:3456:789a:1::11")]);
});

test("a new device gets no number that another one has just had, until all were given", () => {
  expect(freeNumber([])).toBe(2);
  expect(freeNumber([2, 3])).toBe(4);
  expect(freeNumber([2, 9])).toBe(10);
  expect(freeNumber([3, 254])).toBe(2);
  expect(freeNumber(Array.from({ length: 253 }, (_, at) => at + 2))).toBeNull();
});
