import { beforeEach, expect, test } from "bun:test";
import type { HostNetwork } from "../../src/network/host-network.ts";
import { Machine } from "../../src/tunnel/machine.ts";
import { cidrs } from "../fake/address.ts";
import { FakeHost } from "../fake/host.ts";
import { TWO_CABLES } from "../install/example.ts";

const CONF = "/proc/sys/net/ipv4/conf";

let host: FakeHost;
beforeEach(() => {
  host = new FakeHost();
  host.files.set(`${CONF}/default/rp_filter`, "2\n");
  for (const link of ["eth0", "eth1"]) {
    host.files.set(`${CONF}/${link}/rp_filter`, "1\n");
    host.files.set(`${CONF}/${link}/accept_local`, "0\n");
  }
});

function networkWith(lan: string, uplink: string): HostNetwork {
  return {
    ...TWO_CABLES.network,
    lans: [{ interface: lan, prefixes: cidrs("192.168.7.0/24") }],
    uplink,
  };
}

async function set(network: HostNetwork): Promise<void> {
  const log = { info: () => {}, warn: () => {} };
  await new Machine({ host, log } as never).setSysctls(network);
}

function sourceCheckOf(link: string): string[] {
  return ["rp_filter", "accept_local"].map((name) => `${host.files.get(`${CONF}/${link}/${name}`)}`.trim());
}

test("only the LAN's interface has no source check", async () => {
  await set(networkWith("eth0", "eth1"));
  expect([sourceCheckOf("eth0"), sourceCheckOf("eth1")]).toEqual([
    ["0", "1"],
    ["1", "0"],
  ]);
});

test("the LAN's interface has its source check again when it becomes the uplink", async () => {
  await set(networkWith("eth0", "eth1"));
  await set(networkWith("eth1", "eth0"));
  expect([sourceCheckOf("eth0"), sourceCheckOf("eth1")]).toEqual([
    ["2", "0"],
    ["0", "1"],
  ]);
});

test("so it has when it becomes the only card", async () => {
  await set(networkWith("eth0", "eth1"));
  await set(networkWith("eth0", "eth0"));
  expect(sourceCheckOf("eth0")).toEqual(["2", "0"]);
});
