import { afterEach, beforeEach, expect, test } from "bun:test";
import { Home } from "./home.ts";

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
  await home.graph.tunnels.machine.checkNetwork();
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
    uplink: home.graph.controller.network.uplink,
    online: true,
  });
  expect(network.uplink).toBeString();
});

test("a LAN without an address and an uplink that is down are told as they are", async () => {
  home.host.links.get("lan0")?.addresses.splice(0);
  home.host.plug(false);
  await home.graph.tunnels.machine.checkNetwork();
  expect(await read()).toMatchObject({ lan: [], online: false });
});
