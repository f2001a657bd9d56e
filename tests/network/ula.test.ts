import { expect, test } from "bun:test";
import { addressOf } from "../../src/base/address.ts";
import { settingsFrom } from "../../src/base/settings.ts";
import { keepUla, randomUla, servedAmong, ulaOn, ulasOf } from "../../src/network/ula.ts";
import { cidr, cidrs } from "../fake/address.ts";

const ULA = "fd12:3456:789a::/48";
const LANS = [
  { interface: "eth1", prefixes: cidrs("192.168.7.0/24", "fe80::/10") },
  { interface: "wlan0", prefixes: cidrs("10.5.0.0/16", "fe80::/10") },
];
const OWN = [ulaOn(ULA, "eth1"), ulaOn(ULA, "wlan0")];

test("a random prefix is one that the settings take, and another each time", () => {
  const some = Array.from({ length: 200 }, randomUla);
  for (const ula of some) expect(settingsFrom({ ula }).ula).toBe(ula);
  expect(new Set(some).size).toBe(200);
});

test("each interface has a subnet of its own, which depends on nothing but its name", () => {
  expect(OWN).toEqual([cidr("fd12:3456:789a:9808::1/64"), cidr("fd12:3456:789a:f2fb::1/64")]);
  expect(ulaOn("fd00::/48", "eth1")).toBe(cidr("fd00:0:0:9808::1/64"));
});

async function commandsFor(dhcp: string, addresses = OWN.slice(0, 0), ipv6: "on" | "off" = "on") {
  const commands: string[] = [];
  const host = {
    run: async (argv: readonly string[]) => {
      commands.push(argv.join(" "));
      return "";
    },
  };
  const network = { lans: LANS, addresses: addresses.map(addressOf), ipv6 };
  const isChanged = await keepUla(host, network, settingsFrom({ dhcp, ula: ULA }));
  expect(isChanged).toBe(commands.length > 0);
  return commands;
}

test("a missing address is given again, only where DHCP is served, and only with IPv6", async () => {
  const [first, second] = OWN.map(
    (own, index) => `ip -6 address replace ${own} dev ${LANS[index]?.interface} nodad`,
  );
  expect(await commandsFor("on")).toEqual([`${first}`, `${second}`]);
  expect(await commandsFor("on", OWN.slice(0, 1))).toEqual([`${second}`]);
  expect(await commandsFor("10.5.1.0-10.5.2.0")).toEqual([`${second}`]);
  expect(await commandsFor("on", OWN)).toEqual([]);
  expect(await commandsFor("off")).toEqual([]);
  expect(await commandsFor("on", [], "off")).toEqual([]);
});

test("an interface is served if a range lies in one of its networks", () => {
  const names = (dhcp: string) => servedAmong(LANS, settingsFrom({ dhcp })).map((lan) => lan.interface);
  expect([names("on"), names("192.168.7.9-192.168.7.20"), names("off")]).toEqual([
    ["eth1", "wlan0"],
    ["eth1"],
    [],
  ]);
});

test("the gateway's own addresses are known with whatever prefix, and nobody else's", async () => {
  const shown = [
    {
      ifname: "eth1",
      addr_info: [
        { local: "192.168.7.1", prefixlen: 24 },
        { local: "fd12:3456:789a:9808::1", prefixlen: 64 },
        { local: "fdff:1:2:9808::1", prefixlen: 64 },
        // Another subnet, another host, another length, not a unique local prefix.
        { local: "fdff:1:2:9809::1", prefixlen: 64 },
        { local: "fdff:1:2:9808::2", prefixlen: 64 },
        { local: "fdff:1:2:9808:1::1", prefixlen: 64 },
        { local: "fdff:1:2:9808::1", prefixlen: 128 },
        { local: "2001:db8:2:9808::1", prefixlen: 64 },
      ],
    },
    { ifname: "wlan0", addr_info: [{ local: "fdff:1:2:9808::1", prefixlen: 64 }] },
  ];
  expect(await ulasOf({ run: async () => JSON.stringify(shown) })).toEqual([
    { interface: "eth1", prefix: cidr("fd12:3456:789a:9808::1/64") },
    { interface: "eth1", prefix: cidr("fdff:1:2:9808::1/64") },
  ]);
});
