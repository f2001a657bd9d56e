import { expect, test } from "bun:test";
import {
  ipv6Finding,
  lanFinding,
  otherRoutersFinding,
  resolverFinding,
  uplinkFinding,
} from "../../src/checks/network.ts";
import type { HostNetwork } from "../../src/network/host-network.ts";
import type { OtherRouter } from "../../src/network/other-routers.ts";
import { cidrs, ip } from "../fake/address.ts";
import { FakeHost } from "../fake/host.ts";

const NETWORK: HostNetwork = {
  lans: [{ interface: "lan0", prefixes: cidrs("192.168.7.0/24") }],
  uplink: "up0",
  uplinkAddresses: [ip("198.51.100.2"), ip("fe80::2")],
  addresses: [ip("192.168.7.1"), ip("198.51.100.2")],
  resolvers: [],
  uplinkPrefixes: [],
  uplinkMtu: 1500,
  ipv6: "on",
  online: true,
  routers: [],
  uplinkRouters: [],
  lanRoutes: [],
  linkRoutes: [],
  meshes: [],
  routesAgainstLan: [],
  remarks: [],
};

/** What `ip` prints on a machine that has nothing else than these. */
interface Shown {
  routes4?: object[];
  routes6?: object[];
  neighbours?: object[];
  addresses?: object[];
}

function machine({ routes4 = [], routes6 = [], neighbours = [], addresses = [] }: Shown) {
  const texts: Record<string, object[]> = {
    "ip -j -4 route show default": routes4,
    "ip -j -6 route show default": routes6,
    "ip -j -s neigh show": neighbours,
    "ip -j address show": addresses,
  };
  return {
    run: async (argv: readonly string[]) => {
      const text = texts[argv.join(" ")];
      if (text === undefined) throw new Error(`unknown: ${argv.join(" ")}`);
      return JSON.stringify(text);
    },
  };
}

const ROUTE = { dst: "default", gateway: "198.51.100.1", dev: "up0", flags: [] };
const uplink = (network: Partial<HostNetwork>, shown: Shown = {}, inUse = false) =>
  uplinkFinding(machine(shown), { ...NETWORK, ...network }, inUse);

test("an uplink with a carrier, an address and a router that is not known to be silent is fine", async () => {
  const fine = { result: "ok", found: "up0 has 198.51.100.2", advice: null } as const;
  expect(await uplink({}, { routes4: [ROUTE] })).toMatchObject(fine);
  const neighbours = [{ dst: "198.51.100.9", dev: "up0", state: ["FAILED"] }];
  expect(await uplink({}, { routes4: [ROUTE], neighbours })).toMatchObject(fine);
  expect(await uplink({ online: false }, {}, true)).toMatchObject(fine);
});

test("what an uplink lacks is named", async () => {
  expect(await uplink({ uplink: null, online: false })).toMatchObject({
    result: "fault",
    found: "there is no default route",
    advice:
      "Check that the uplink's cable is plugged in and the home router is on. If the uplink needs no default route, name it with --uplink.",
  });
  const noAddress = {
    result: "fault",
    found: "up0 has no address from the home router",
    advice:
      "Check that the cable is plugged in and the home router's DHCP server is on, or set an address by hand.",
  } as const;
  expect(await uplink({ uplinkAddresses: [ip("fe80::2")] })).toMatchObject(noAddress);
  expect(await uplink({ uplinkAddresses: [ip("169.254.7.7")] })).toMatchObject(noAddress);
  expect(await uplink({ online: false })).toMatchObject({
    result: "fault",
    found: "up0 has 198.51.100.2, but no carrier or no default route",
    advice: "Check that the cable is plugged in and the home router is on.",
  });
  const neighbours = [{ dst: "198.51.100.1", dev: "up0", state: ["FAILED"] }];
  expect(await uplink({}, { routes4: [ROUTE], neighbours })).toMatchObject({
    result: "fault",
    found: "up0 has 198.51.100.2, but the home router 198.51.100.1 does not answer",
    advice: "Check that the home router is on and has this address.",
  });
});

test("a LAN is there, doubtful or missing", () => {
  expect(lanFinding(NETWORK)).toMatchObject({ result: "ok", found: "lan0 (192.168.7.0/24)", advice: null });
  expect(lanFinding({ ...NETWORK, uplink: "lan0" }).found).toBe(
    "lan0 (192.168.7.0/24); it is also the uplink",
  );
  expect(lanFinding({ ...NETWORK, remarks: ["lan0 has 192.168.7.1/1"] })).toMatchObject({
    result: "warning",
    found: "lan0 (192.168.7.0/24); lan0 has 192.168.7.1/1",
    advice: "Correct that, or the settings --lan and --uplink.",
  });
  const covered = [{ interface: "lan0", prefixes: cidrs("192.168.7.0/24", "fc00:bbbb:bbbb:bb01::/64") }];
  expect(lanFinding({ ...NETWORK, lans: covered }, [ip("fc00:bbbb:bbbb:bb01::5:1")])).toMatchObject({
    result: "warning",
    found:
      "lan0 (192.168.7.0/24); fc00:bbbb:bbbb:bb01::/64 does not count as LAN, because it covers the address of a tunnel",
    advice:
      "If you have chosen this prefix, give the LAN another one. If not, a device on the LAN advertises it: turn off its router advertisements. IPv4 works meanwhile.",
  });
  expect(lanFinding({ ...NETWORK, lans: [] })).toMatchObject({
    result: "fault",
    found: "no interface has a private address",
    advice: "Connect the LAN's cable, or name its interface with --lan.",
  });
  expect(lanFinding({ ...NETWORK, lans: [], remarks: ["no LAN: eth1 was the LAN"] }).found).toBe(
    "no LAN: eth1 was the LAN",
  );
});

test("routers and DHCP servers of the LAN are known from what the kernel has heard", async () => {
  const found = (shown: Shown) =>
    otherRoutersFinding(machine(shown), NETWORK, { current: [], isListening: false });
  expect(await found({})).toMatchObject({ result: "ok", found: "none were heard", advice: null });
  const addresses = [
    { ifname: "lan0", addr_info: [{ family: "inet", local: "192.168.7.1", dynamic: true }] },
    { ifname: "up0", addr_info: [{ family: "inet", local: "198.51.100.2", dynamic: true }] },
  ];
  expect(await found({ addresses })).toMatchObject({
    result: "ok",
    found: "a DHCP server gives out addresses on lan0; no IPv6 router was heard",
    advice: null,
  });
  const passing = {
    result: "warning",
    found: "fe80::99 on lan0 is an IPv6 router: devices that use it leave outside the tunnel",
    advice:
      "Turn off IPv6, or its router advertisements, in the settings of the other router. Devices that do not use the gateway are out of its reach.",
  } as const;
  const route = { dst: "default", gateway: "fe80::99", protocol: "ra" };
  expect(await found({ routes6: [{ ...route, dev: "lan0" }] })).toMatchObject(passing);
  expect((await found({ routes6: [{ ...route, dev: "up0" }] })).result).toBe("ok");
  expect((await found({ routes6: [{ ...route, dev: "lan0", protocol: "static" }] })).result).toBe("ok");
  const neighbour = { dst: "fe80::99", lladdr: "02:00:00:00:00:99", state: ["STALE"] };
  expect(await found({ neighbours: [{ ...neighbour, dev: "lan0", router: null }] })).toMatchObject(passing);
  expect((await found({ neighbours: [{ ...neighbour, dev: "lan0" }] })).result).toBe("ok");
  expect((await found({ neighbours: [{ ...neighbour, dev: "up0", router: null }] })).result).toBe("ok");
});

test("while the service listens, those that lead devices past the gateway are named, with what to do", async () => {
  const found = (current: readonly OtherRouter[]) =>
    otherRoutersFinding(machine({}), NETWORK, { current, isListening: true });
  expect(await found([])).toMatchObject({
    result: "ok",
    found: "none leads devices past the gateway",
    advice: null,
  });
  const six = { interface: "lan0", address: ip("fe80::99"), mac: "02:00:00:00:00:99", resolvers: [] };
  const router = { ...six, routers: [ip("fe80::99")] };
  const server = { ...six, address: ip("192.168.7.254"), routers: [ip("192.168.7.254")] };
  expect(await found([router, server])).toMatchObject({
    result: "warning",
    found:
      "fe80::99 on lan0 advertises itself as an IPv6 router; the DHCP server 192.168.7.254 on lan0 gives devices the router 192.168.7.254: devices that use it leave outside the tunnel",
    advice:
      "Turn off IPv6, or its router advertisements, in the settings of the other router. Turn off the other DHCP server, or let it give devices the gateway as router and as DNS server. docs/other-routers.md has the steps for common routers.",
  });
});

test("a system without a resolver can still use servers with an address", async () => {
  const host = new FakeHost();
  expect(await resolverFinding(host)).toMatchObject({
    result: "warning",
    found: "the system has no DNS resolver to look up the server's name: give the endpoint as an address",
    advice:
      "Servers with an address work. For servers with a name, let DHCP set a resolver, or write one to /etc/resolv.conf.",
  });
  host.files.set("/etc/resolv.conf", "nameserver 198.51.100.1\nnameserver 2001:db8::1\n");
  expect(await resolverFinding(host)).toMatchObject({
    result: "ok",
    found: "198.51.100.1, 2001:db8::1",
    advice: null,
  });
});

test("IPv6 is never a fault: it is carried, refused or not there", () => {
  expect([
    ipv6Finding({ ipv6: "missing" }, true),
    ipv6Finding({ ipv6: "off" }, null),
    ipv6Finding({ ipv6: "on" }, null),
    ipv6Finding({ ipv6: "on" }, true),
    ipv6Finding({ ipv6: "on" }, false),
  ]).toMatchObject(
    [
      "the kernel has none: only IPv4 is used",
      "turned off on this machine: only IPv4 is used",
      "on; filtered like IPv4",
      "on; the tunnel carries it",
      "on; the tunnel carries none, so it is refused",
    ].map((found) => ({ result: "ok", found, advice: null })),
  );
});
