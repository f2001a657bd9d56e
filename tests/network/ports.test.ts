import { expect, test } from "bun:test";
import {
  type AskedPort,
  freeNetworks,
  givenIn,
  portsIn,
  prefixesBeside,
  rolesFor,
} from "../../src/network/ports.ts";
import { cidr } from "../fake/address.ts";

/** `r` is a port at which a router answers, `d` one with something else, `-` one with nothing; in order from eth0. */
function ports(text: string): AskedPort[] {
  return [...text].map((what, number) => ({
    name: `eth${number}`,
    hasCarrier: what !== "-",
    answers: what === "r",
  }));
}

test.each([
  ["rd", "eth0", "eth0 / eth1"],
  ["dr", "eth0", "eth1 / eth0"],
  ["rr", "eth0", "eth0 / eth0"],
  ["rr", "eth1", "eth1 / eth1"],
  ["r-", "eth1", "eth0 / eth0"],
  ["-r", "eth0", "eth1 / eth1"],
  ["dr-", "eth0", "eth1 / eth0, eth2"],
  ["drr", "eth0", "eth1 / eth1"],
  ["r", "eth0", "eth0 / eth0"],
  ["dd", "eth0", "nothing"],
  ["--", "eth0", "nothing"],
])("the ports %s, of which %s was the uplink: uplink / LAN are %s", (text, former, wanted) => {
  const roles = rolesFor(ports(text), former);
  expect(roles === null ? "nothing" : `${roles.uplink} / ${roles.lans.join(", ")}`).toBe(wanted);
});

test("the ports are the network cards of the image, in order, and not more than eight", () => {
  const link = (ifname: string, link_type = "ether", flags = ["UP"]) => ({
    ...{ ifname, mtu: 1500, link_type, flags, addr_info: [] },
  });
  const addresses = [
    ...[link("lo", "loopback"), link("eth10"), link("eth2", "ether", ["UP", "NO-CARRIER"]), link("eth1")],
    ...[link("portcullis0", "none"), link("wlan0"), link("eth0", "ether", []), link("eth9999")],
  ];
  expect(portsIn({ addresses })).toEqual([
    { name: "eth0", hasCarrier: false },
    { name: "eth1", hasCarrier: true },
    { name: "eth2", hasCarrier: false },
    { name: "eth10", hasCarrier: true },
  ]);
  const many = Array.from({ length: 30 }, (_, number) => link(`eth${number}`));
  expect(portsIn({ addresses: many })).toHaveLength(8);
});

test("a LAN gets a network that overlaps none of the others, or none if all are taken", () => {
  expect(freeNetworks(2, [cidr("192.168.73.1/24"), cidr("192.168.75.9/30")])).toEqual([
    cidr("192.168.74.1/24"),
    cidr("192.168.76.1/24"),
  ]);
  expect(freeNetworks(1, [cidr("192.168.0.1/16")])).toEqual([cidr("172.28.73.1/24")]);
  expect(freeNetworks(1, [cidr("192.168.0.1/16"), cidr("172.16.0.1/12")])).toEqual([]);
});

test("an address counts as the router's also if its lease has no end, unless the gateway has given it to that port", () => {
  const own = (name: string, prefix: string, isLeased = false) => ({
    ...{ interface: name, prefix: cidr(prefix), isLeased },
  });
  const before = [own("eth0", "192.168.7.30/24", true), own("eth1", "192.168.73.1/24")];
  const given = givenIn(before, ["eth0", "eth1"]);
  expect(given).toEqual([own("eth1", "192.168.73.1/24")]);
  const crossed = [own("eth0", "192.168.73.1/24"), own("eth1", "192.168.7.31/24")];
  expect(prefixesBeside([...before, ...crossed], given)).toEqual([
    ...[cidr("192.168.7.30/24"), cidr("192.168.73.1/24")],
    cidr("192.168.7.31/24"),
  ]);
  expect(prefixesBeside([own("eth1", "192.168.73.1/24")], given)).toEqual([]);
});
