import { expect, test } from "bun:test";
import { lanRoutesIn, linkRoutesIn, routesAgainst } from "../../src/network/lan-routes.ts";
import { cidrs } from "../fake/address.ts";

const read = (...shown: object[]) =>
  lanRoutesIn(shown, ["lan0"]).map(({ prefix, via, interface: name }) => `${prefix} ${via} ${name}`);

test("the operator's routes to private networks by the LAN are found", () => {
  expect(
    read(
      { dst: "fd08::/48", gateway: "fe80::20", dev: "lan0", protocol: "static", metric: 1024 },
      { dst: "10.8.0.0/16", gateway: "192.168.7.20", dev: "lan0", protocol: "boot" },
      { dst: "172.20.0.5", dev: "lan0" },
    ),
  ).toEqual(["10.8.0.0/16 192.168.7.20 lan0", "172.20.0.5/32 null lan0", "fd08::/48 fe80::20 lan0"]);
});

test.each([
  ["a default route", { dst: "default", gateway: "192.168.7.20", dev: "lan0" }],
  ["one to more than private address space", { dst: "0.0.0.0/1", gateway: "192.168.7.20", dev: "lan0" }],
  ["one to a public network", { dst: "198.51.100.0/24", gateway: "192.168.7.20", dev: "lan0" }],
  ["one by another interface", { dst: "10.8.0.0/16", gateway: "192.168.8.1", dev: "up0" }],
  ["one that DHCP has told", { dst: "10.8.0.0/16", gateway: "192.168.7.20", dev: "lan0", protocol: "dhcp" }],
  ["one that a router has announced", { dst: "fd08::/48", gateway: "fe80::20", dev: "lan0", protocol: "ra" }],
  ["the kernel's own", { dst: "192.168.7.0/24", dev: "lan0", protocol: "kernel" }],
  ["one that refuses", { type: "unreachable", dst: "10.8.0.0/16", dev: "lan0" }],
  ["one by several routers", { dst: "10.8.0.0/16", nexthops: [{ dev: "lan0" }] }],
  ["one of link-local addresses", { dst: "169.254.7.0/24", dev: "lan0" }],
])("%s is not one of them", (_, route) => {
  expect(read(route)).toEqual([]);
});

test("of two routes to a network the one with the lower metric counts", () => {
  const by = (gateway: string, metric: number) => ({ dst: "10.8.0.0/16", gateway, dev: "lan0", metric });
  expect(read(by("192.168.7.20", 200), by("192.168.7.21", 100))).toEqual(["10.8.0.0/16 192.168.7.21 lan0"]);
});

const LANS = [{ interface: "lan0", prefixes: cidrs("192.168.7.0/24", "fd00:7::/64", "fe80::/10") }];

test("the LAN's own routes are those to its prefixes by its interfaces, without a router", () => {
  const own = { dst: "192.168.7.0/24", dev: "lan0", protocol: "kernel", prefsrc: "192.168.7.1" };
  const others = [
    { ...own, prefsrc: "192.168.7.9", metric: 600 },
    { ...own, dev: "up0" },
    { ...own, dst: "192.168.7.0/25" },
    { dst: "fd00:7::/64", dev: "lan0", gateway: "fe80::20" },
  ];
  const found = linkRoutesIn([...others, own, { dst: "fd00:7::/64", dev: "lan0", metric: 256 }], LANS);
  expect(found.map(({ prefix, interface: name, source }) => `${prefix} ${name} ${source}`)).toEqual([
    "192.168.7.0/24 lan0 192.168.7.1",
    "fd00:7::/64 lan0 null",
  ]);
});

test("a route to a part of the LAN by another interface is against it, but not the kernel's own", () => {
  const half = { dst: "192.168.7.0/25", gateway: "192.168.8.1", dev: "up0", protocol: "dhcp" };
  const announced = { dst: "fd00:7::/65", gateway: "fe80::1", dev: "up0", protocol: "ra" };
  const fine = [
    { ...half, dev: "lan0" },
    { ...half, protocol: "kernel" },
    { ...half, dst: "192.168.0.0/16" },
    { dst: "default", gateway: "192.168.8.1", dev: "up0" },
  ];
  expect(routesAgainst([...fine, half, announced], LANS)).toEqual([
    "192.168.7.0/25 via 192.168.8.1 dev up0",
    "fd00:7::/65 via fe80::1 dev up0",
  ]);
});
