import { expect, test } from "bun:test";
import { lanRoutesIn } from "../../src/network/lan-routes.ts";

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
