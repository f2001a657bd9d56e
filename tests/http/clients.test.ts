import { expect, test } from "bun:test";
import { mustParseAddress } from "../../src/base/address.ts";
import { parseMac } from "../../src/base/mac.ts";
import { Clients } from "../../src/http/clients.ts";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";

const DEVICES: Record<string, string> = {
  "192.168.7.20": "02:00:00:00:00:20",
  "192.168.7.21": "02:00:00:00:00:20",
  "fd00::20": "02:00:00:00:00:20",
  "fe80::20 lan0": "02:00:00:00:00:20",
  "fe80::20 lan1": "02:00:00:00:00:99",
  "fd00::30": "02:00:00:00:00:30",
};
const clients = new Clients(
  (address, link) => DEVICES[link === null ? address : `${address} ${link}`] ?? null,
);
const nameOf = (peer: string) => clients.see(new Request("http://localhost/"), peer);

test("a client is a device, by each of its addresses, and two devices with one prefix are two clients", () => {
  const own = ["192.168.7.20", "::ffff:192.168.7.20", "192.168.7.21", "fd00::20", "fe80::20%lan0"].map(
    nameOf,
  );
  expect(new Set(own)).toEqual(new Set(["02:00:00:00:00:20"]));
  expect([nameOf("fd00::30"), nameOf("fe80::20%lan1")]).toEqual(["02:00:00:00:00:30", "02:00:00:00:00:99"]);
});

test("addresses of no known device are one client together, so that more addresses get no more", () => {
  const strangers = ["192.168.7.200", "fd00::1:2", "fe80::7%lan0", "fe80::7", ""].map(nameOf);
  expect(new Set(strangers).size).toBe(1);
  expect(nameOf("127.0.0.1")).not.toBe(strangers[0] ?? "");
});

test("the client of a request is that of its peer", () => {
  const request = new Request("http://localhost/");
  clients.see(request, "fd00::30");
  expect(clients.of(request)).toBe("02:00:00:00:00:30");
});

slow.test(
  "a device that is not kept, because others have invented so many, is still known by its MAC address",
  async () => {
    const home = await Home.start();
    const { devices } = home.parts;
    devices.lanIs([{ interface: "lan0", prefixes: [] }], null);
    home.host.setNeighbour("192.168.7.77", "lan0", "02:00:00:00:00:77", "REACHABLE");
    const address = mustParseAddress("192.168.7.77");
    expect(devices.roster.ownerOf(address)).toBeNull();
    expect(devices.roster.senderAt(address, null)).toBe(parseMac("02:00:00:00:00:77"));
    expect(devices.roster.senderAt(mustParseAddress("192.168.7.78"), null)).toBeNull();
    await home.stop();
  },
);
