import { expect, test } from "bun:test";
import { detourTo } from "../../src/checks/detour.ts";
import type { Route } from "../../src/system/ip.ts";
import { ip, ips } from "../fake/address.ts";

const ROUTERS = { routers: ips("192.168.88.1", "fe80::1") };
const USUAL: Route[] = [
  { dst: "default", gateway: "192.168.88.1", dev: "up0", protocol: "dhcp" },
  { dst: "192.168.88.0/24", dev: "up0", protocol: "kernel" },
];
const through = (server: string, ...more: Route[]) => detourTo(ip(server), [...USUAL, ...more], ROUTERS);

test("the default route, the home router's own routes and the uplink's cable are no detour", () => {
  expect(through("203.0.113.11")).toBeNull();
  expect(through("192.168.88.7")).toBeNull();
  expect(through("203.0.113.11", { dst: "203.0.113.0/24", gateway: "192.168.88.1", dev: "up0" })).toBeNull();
  expect(
    through("203.0.113.11", { dst: "198.51.100.0/24", gateway: "192.168.88.66", dev: "up0" }),
  ).toBeNull();
});

test("what leads elsewhere is, as the kernel takes it: by the most specific route, whatever its kind", () => {
  const half = { dst: "128.0.0.0/1", gateway: "192.168.88.66", dev: "up0" };
  const own = { dst: "203.0.113.11", gateway: "192.168.88.67", dev: "up0", protocol: "dhcp" };
  expect(through("203.0.113.11", half)).toBe("128.0.0.0/1 via 192.168.88.66 dev up0");
  expect(through("203.0.113.11", half, own)).toBe("203.0.113.11 via 192.168.88.67 dev up0");
  expect(through("203.0.113.11", { dst: "203.0.113.11", dev: "up0", protocol: "dhcp" })).toBe(
    "203.0.113.11 dev up0",
  );
  expect(through("203.0.113.11", { dst: "203.0.113.0/24", type: "blackhole" })).toBe(
    "blackhole 203.0.113.0/24",
  );
  expect(
    through("2001:db8::1", { dst: "2001:db8::/32", gateway: "fe80::66", dev: "up0", protocol: "ra" }),
  ).toBe("2001:db8::/32 via fe80::66 dev up0");
});

test("without a default route, the one to the server is the operator's", () => {
  const only = [{ dst: "203.0.113.11", gateway: "192.168.88.1", dev: "up0" }];
  expect(detourTo(ip("203.0.113.11"), only, { routers: [] })).toBeNull();
});
