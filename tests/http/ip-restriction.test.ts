import { expect, test } from "bun:test";
import type { Prefix } from "../../src/base/address.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { IpRestriction } from "../../src/http/ip-restriction.ts";
import { cidrs } from "../fake/address.ts";

// As the ruleset needs it, the LAN's prefixes include the link-local one.
const LAN = cidrs("192.168.1.0/24", "fd00:1::/64", "fe80::/10");
const INTERFACES = ["eth1", "eth1.5"];

function restrictionFor(lan: readonly Prefix[], interfaces: readonly string[] = []) {
  return new IpRestriction({ lan: () => lan, interfaces: () => interfaces });
}

test.each([
  "127.0.0.1",
  "127.9.9.9",
  "::1",
  "::ffff:127.0.0.1",
  "192.168.1.1",
  "192.168.1.255",
  "::ffff:192.168.1.7",
  "fd00:1::9",
  "fe80::1%eth1",
  "febf::1%eth1.5",
])("%s is local", (peer) => {
  const restriction = restrictionFor(LAN, INTERFACES);
  expect(restriction.isLocal(peer)).toBe(true);
  expect(() => restriction.refuseRemote(peer)).not.toThrow();
});

test.each([
  "192.168.2.1",
  "10.0.0.1",
  "8.8.8.8",
  "0.0.0.0",
  "::ffff:8.8.8.8",
  "::ffff:192.168.2.1",
  "::",
  "fd00:2::1",
  "fec0::1",
  "2001:db8::1",
  "fe80::1",
  "fe80::1%",
  "fe80::1%eth0",
  "fe80::1%eth",
  "fe80::1%eth1.5.6",
  "fe80::1%eth1%eth0%eth1",
  "localhost",
  "",
])("%p is not local", (peer) => {
  const restriction = restrictionFor(LAN, INTERFACES);
  expect(restriction.isLocal(peer)).toBe(false);
  expect(() => restriction.refuseRemote(peer)).toThrow(
    new GatewayError("forbidden", "only the local network is served"),
  );
});

test("a peer without a known address is refused", () => {
  expect(() => restrictionFor(LAN).refuseRemote(null)).toThrow("only the local network is served");
});

test("a cached answer does not outlive a change of the LAN", () => {
  let lan = cidrs("192.168.1.0/24");
  let interfaces = ["eth1"];
  const restriction = new IpRestriction({ lan: () => lan, interfaces: () => interfaces });
  const locals = () => ["192.168.1.7", "10.1.2.3", "fe80::1%eth1"].map((peer) => restriction.isLocal(peer));
  expect(locals()).toEqual([true, false, true]);
  expect(locals()).toEqual([true, false, true]);
  lan = cidrs("10.0.0.0/8");
  interfaces = ["eth0"];
  expect(locals()).toEqual([false, true, false]);
});

test("answers stay right when more clients come than are cached", () => {
  const restriction = restrictionFor(cidrs("10.0.0.0/9"));
  for (let i = 0; i < 3_000; i++) {
    const [high, low] = [i >> 8, i & 255];
    expect(restriction.isLocal(`10.0.${high}.${low}`)).toBe(true);
    expect(restriction.isLocal(`10.128.${high}.${low}`)).toBe(false);
  }
});
