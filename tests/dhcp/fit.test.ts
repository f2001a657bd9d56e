import { expect, test } from "bun:test";
import { networkOf } from "../../src/base/address.ts";
import { settingsFrom } from "../../src/base/settings.ts";
import { dnsmasqConfig } from "../../src/dhcp/config.ts";
import { DHCP_FILES } from "../../src/dhcp/files.ts";
import { fittingConfig } from "../../src/dhcp/fit.ts";
import { type LanFacts, servedLans } from "../../src/dhcp/lans.ts";
import type { HostNetwork, Ipv6 } from "../../src/network/host-network.ts";
import { cidr, ip } from "../fake/address.ts";
import { ONE_CABLE } from "../install/example.ts";

const ULA = "fd12:3456:789a::/48";

interface Place {
  network: HostNetwork;
  facts: LanFacts;
}

/** A machine whose LAN interfaces have these addresses. */
function place(
  own: Record<string, string>,
  { ipv6 = "on", router = "192.168.7.1" }: { ipv6?: Ipv6; router?: string } = {},
): Place {
  const all = Object.entries(own).map(([name, prefix]) => ({ interface: name, prefix: cidr(prefix) }));
  const lans = all.map(({ interface: name, prefix }) => ({
    interface: name,
    prefixes: [networkOf(prefix), cidr("fe80::/10")],
  }));
  return {
    network: { ...ONE_CABLE.network, lans, ipv6 },
    facts: { addresses: all.map((each) => ({ ...each, isLeased: false })), routers: [ip(router)] },
  };
}

const HOME = place({ eth0: "192.168.7.2/24" });
const installedOn = ({ network, facts }: Place, dhcp = "on") =>
  dnsmasqConfig(servedLans(network, facts, settingsFrom({ dhcp, ula: ULA })), DHCP_FILES);
const fitting = (installed: string, now: Place, given: { dhcp?: string; lan?: string } = {}) =>
  fittingConfig(installed, now, settingsFrom({ dhcp: "on", ula: ULA, ...given }), DHCP_FILES);

test("on the LAN that it was installed for, the configuration stays", () => {
  const installed = installedOn(HOME);
  expect(fitting(installed, HOME)).toBe(installed);
});

test("another home router or another address of the gateway do not change it: leases go on", () => {
  const installed = installedOn(HOME);
  const router = "192.168.7.150";
  expect(installedOn(place({ eth0: "192.168.7.200/24" }, { router }))).not.toBe(installed);
  expect(fitting(installed, place({ eth0: "192.168.7.200/24" }, { router }))).toBe(installed);
});

test("on a LAN with another prefix it gives out addresses of that", () => {
  const moved = place({ eth0: "192.168.9.2/24" });
  expect(fitting(installedOn(HOME), moved)).toBe(installedOn(moved));
  expect(installedOn(moved)).toContain("dhcp-range=192.168.9.100,192.168.9.249,255.255.255.0,12h\n");
  const wider = place({ eth0: "192.168.7.2/20" });
  expect(fitting(installedOn(HOME), wider)).toBe(installedOn(wider));
});

test("addresses that a person has chosen are not replaced: it refuses, and says which would do", () => {
  const dhcp = "192.168.7.50-192.168.7.99";
  const installed = installedOn(HOME, dhcp);
  expect(fitting(installed, HOME, { dhcp })).toBe(installed);
  expect(() => fitting(installed, place({ eth0: "192.168.9.2/24" }), { dhcp })).toThrow(
    "--dhcp: 192.168.7.50-192.168.7.99 is outside the LAN; choose addresses from 192.168.9.0/24 on eth0",
  );
});

test("without IPv6 in the kernel it serves IPv4, and with it again both", () => {
  const without = place({ eth0: "192.168.7.2/24" }, { ipv6: "missing" });
  const config = fitting(installedOn(HOME), without);
  expect(config).not.toMatch(/enable-ra|fd12/);
  expect(config).toContain("dhcp-range=192.168.7.100,192.168.7.249,");
  expect(fitting(config, HOME)).toBe(installedOn(HOME));
});

test("while one of two interfaces has no address, the other one is served, in whatever order they are", () => {
  const both = { eth1: "192.168.7.1/24", wlan0: "10.5.0.1/16" };
  const installed = installedOn(place(both));
  const lan = "eth1,wlan0";
  expect(fitting(installed, place({ eth1: "192.168.7.1/24" }), { lan })).toBe(installed);
  expect(fitting(installed, place({ wlan0: "10.5.0.1/16" }))).toBe(installed);
  expect(fitting(installed, place(Object.fromEntries(Object.entries(both).toReversed())))).toBe(installed);
});

test("another interface is never served, nor none", () => {
  const installed = installedOn(HOME);
  expect(() => fitting(installed, place({ eth1: "192.168.7.2/24" }))).toThrow(
    "it was installed for eth0, but the LAN's interfaces are now: eth1",
  );
  expect(() => fitting(installed, place({}))).toThrow(
    "it was installed for eth0, but the LAN's interfaces are now: none",
  );
});
