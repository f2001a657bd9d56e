import { describe, expect, test } from "bun:test";
import { readIvpn } from "../../../src/servers/lists/ivpn.ts";
import { readList } from "../../../src/servers/lists/list.ts";
import { PRESHARED, PUBLIC } from "../example.ts";
import { lineOf } from "./fixture.ts";

const HOST = {
  hostname: "se1.wg.ivpn.net",
  dns_name: "se1.wg.ivpn.net",
  host: "192.0.2.11",
  public_key: PUBLIC,
  local_ip: "172.16.0.1/12",
  multihop_port: 20801,
  load: 12.5,
};
const PLACE = {
  gateway: "se.wg.ivpn.net",
  country_code: "SE",
  country: "Sweden",
  city: "Stockholm",
  isp: "x",
};
const SECOND = { ...HOST, hostname: "se2.wg.ivpn.net", host: "192.0.2.12" };
const LIST = {
  wireguard: [{ ...PLACE, hosts: [HOST, SECOND] }],
  openvpn: [],
  config: {
    antitracker: {},
    api: { ips: [] },
    ports: {
      wireguard: [
        { type: "UDP", port: 53 },
        { type: "UDP", port: 2049 },
      ],
    },
  },
};

test("IVPN's list: each host is a server", () => {
  const { format, servers, skipped, resolver } = readList(JSON.stringify(LIST));
  expect([format, skipped, resolver]).toEqual(["IVPN's list", 0, "172.16.0.1"]);
  expect(servers.map(lineOf)).toEqual([
    `se1.wg.ivpn.net | IVPN | Sweden | Stockholm | 192.0.2.11:2049 | ${PUBLIC.slice(0, 6)}`,
    `se2.wg.ivpn.net | IVPN | Sweden | Stockholm | 192.0.2.12:2049 | ${PUBLIC.slice(0, 6)}`,
  ]);
});

test("the port by which other servers forward packets to a server is read; 0 means that there is none", () => {
  const hosts = [HOST, { ...SECOND, multihop_port: 0 }];
  const reading = readIvpn({ ...LIST, wireguard: [{ ...PLACE, hosts }] });
  expect(reading?.servers.map((server) => server.multihopPort)).toEqual([20801, undefined]);
});

test.each([
  [2049, undefined],
  [2049, { wireguard: [] }],
  [
    53,
    {
      wireguard: [
        "x",
        { type: "TCP", port: 2049 },
        { type: "UDP", range: { min: 1, max: 2 } },
        { type: "udp", port: 53 },
      ],
    },
  ],
])("the port is %i if the ports are %j", (port, ports) => {
  expect(readIvpn({ ...LIST, config: { ports } })?.servers[0]?.port).toBe(port);
});

test.each([
  ["10.0.254.1", "10.0.254.1/16", "10.0.254.1/16"],
  ["172.16.0.1", "10.0.254.1/16", "10.0.254.2/16"],
  ["172.16.0.1", "8.8.8.8/32", "8.8.8.8/32"],
  ["172.16.0.1", undefined, undefined],
])("the resolver is %s if the servers' own addresses are %s and %s", (resolver, one, other) => {
  const hosts = [
    { ...HOST, local_ip: one },
    { ...SECOND, local_ip: other },
  ];
  expect(readIvpn({ ...LIST, wireguard: [{ ...PLACE, hosts }] })?.resolver).toBe(resolver as never);
});

describe("a malformed entry is counted, and the others are read", () => {
  test.each([
    ["a place that is not an object", 1],
    ["a place without hosts", { ...PLACE }],
    ["a host that is not an object", { ...PLACE, hosts: [1] }],
    ["a host without a key", { ...PLACE, hosts: [{ ...HOST, hostname: "x", public_key: undefined }] }],
    ["a loopback address", { ...PLACE, hosts: [{ ...HOST, hostname: "x", host: "127.0.0.1" }] }],
    [
      "a country that turns the line around",
      { ...PLACE, country: "a\u202eb", hosts: [{ ...HOST, hostname: "x" }] },
    ],
    ["the name of another", { ...PLACE, hosts: [{ ...HOST, public_key: PRESHARED }] }],
  ])("%s", (_, place) => {
    const reading = readIvpn({ ...LIST, wireguard: [...LIST.wireguard, place] });
    expect([reading?.servers.length, reading?.skipped]).toEqual([2, 1]);
  });
});
