import { afterEach, beforeEach, expect } from "bun:test";
import { slow } from "../fast.ts";
import { advertisementPacket } from "../network/advertisement.ts";
import { Home } from "./home.ts";

const { test } = slow;

let home: Home;
beforeEach(async () => {
  home = await Home.start();
});
afterEach(() => home.stop());

const read = async () => (await home.send("GET", "/api/network")).json;

test("GET /api/network answers the gateway's own addresses on the LAN, IPv4 first, and no others", async () => {
  const lan0 = home.host.links.get("lan0");
  lan0?.addresses.push("fd00:7::1/64", "2001:db8::1/64", "192.168.7.2/24");
  home.host.links.get("up0")?.addresses.push("10.9.9.9/24");
  await home.parts.tunnels.machine.checkNetwork();
  const network = await read();
  expect(network).toEqual({
    hostname: "portcullis",
    lan: [
      {
        interface: "lan0",
        addresses: ["192.168.7.1", "192.168.7.2", "fd00:7::1"],
        prefixes: ["192.168.7.0/24", "fd00:7::/64"],
      },
    ],
    uplink: home.parts.controller.network.uplink,
    online: true,
    dhcp: false,
    other_routers: [],
  });
  expect(network.uplink).toBeString();
});

test("a LAN without an address and an uplink that is down are told as they are", async () => {
  home.host.links.get("lan0")?.addresses.splice(0);
  home.host.plug(false);
  await home.parts.tunnels.machine.checkNetwork();
  expect(await read()).toMatchObject({ lan: [], online: false });
});

test("dhcp says whether devices get their addresses from the gateway", async () => {
  home.parts.settings.dhcp = ["192.168.7.100-192.168.7.199"];
  expect(await read()).toMatchObject({ dhcp: true });
});

test("another router of the LAN is named, with what it tells devices", async () => {
  const stopping = new AbortController();
  void home.parts.otherRouters.watch(stopping.signal);
  await home.pass(11_000);
  const router = { from: "3c:a6:2f:00:00:01", packet: advertisementPacket() };
  home.host.listening.hear("lan0", "router advertisements", router);
  await home.pass(5_000);
  expect((await read()).other_routers).toEqual([
    {
      interface: "lan0",
      address: "fe80::99",
      mac: "3c:a6:2f:00:00:01",
      found: "fe80::99 on lan0 advertises itself as an IPv6 router",
    },
  ]);
  expect((await home.parts.checkup.results()).checks.find(({ id }) => id === "other_routers")).toMatchObject({
    result: "warning",
    found:
      "fe80::99 on lan0 advertises itself as an IPv6 router: devices that use it leave outside the tunnel",
  });
  stopping.abort();
});
