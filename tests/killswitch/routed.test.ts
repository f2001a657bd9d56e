import { expect, test } from "bun:test";
import { applyRules } from "../../src/killswitch/kernel-rules.ts";
import { inspect } from "../../src/killswitch/report.ts";
import {
  applyRoutes,
  lansWith,
  overlapOf,
  routedIn,
  routersTo,
  routesTo,
} from "../../src/killswitch/routed.ts";
import { routedRules, rulesFor } from "../../src/killswitch/routing-rules.ts";
import { cidr, cidrs, ip, ips } from "../fake/address.ts";
import { needsNamespaces } from "../fast.ts";
import { FIRST, LAN_ROUTES, NETWORK, POLICIES } from "./example.ts";
import { inNamespace } from "./namespace.ts";

const network = { ...NETWORK, lanRoutes: LAN_ROUTES };
const routed = (...prefixes: string[]) => cidrs(...prefixes).map((prefix) => ({ prefix }));

test("a prefix is the LAN's on the interface of its route, the most specific first, and otherwise has no effect", () => {
  const found = routedIn(routed("10.8.0.0/16", "10.9.0.0/16", "10.8.7.0/24"), network, []);
  expect(found).toEqual(routed("10.8.7.0/24", "10.8.0.0/16"));
  expect(lansWith(found, network).map(({ prefixes }) => prefixes)).toEqual([
    cidrs("192.168.7.0/24", "fd00:7::/64", "fe80::/10", "10.8.7.0/24", "10.8.0.0/16"),
    cidrs("10.5.0.0/16", "fe80::/10"),
  ]);
});

test.each([
  ["192.168.7.20/32", "the LAN's own 192.168.7.0/24 on lan0"],
  ["10.0.0.0/8", "the LAN's own 10.5.0.0/16 on br-lan.5"],
  ["192.168.8.0/25", "the uplink's network 192.168.8.0/24"],
  ["10.64.0.0/31", "the address 10.64.0.1 in the main tunnel"],
  ["fd00:64::/64", "the address fd00:64::2 in the main tunnel"],
  ["10.8.0.0/16", null],
])("%s overlaps %p", (prefix, overlap) => {
  expect(overlapOf(cidr(prefix), network, [FIRST])).toBe(overlap);
  if (overlap !== null) {
    const everywhere = { ...network, lanRoutes: [{ prefix: cidr(prefix), via: null, interface: "lan0" }] };
    expect(routedIn(routed(prefix), everywhere, [FIRST])).toEqual([]);
  }
});

test("each prefix has the routes of the LAN within it, and refuses the rest", () => {
  expect(routesTo(routed("10.8.7.0/24"), network).map(({ key, to }) => `${key}${to}`)).toEqual([
    "unreachable 10.8.7.0/24 metric 4294967295",
    "10.8.7.0/24 via 192.168.7.20 dev lan0",
    "10.8.7.128/25 via 192.168.7.21 dev lan0",
  ]);
  expect(routesTo(routed("10.8.7.128/26"), network).map(({ key, to }) => `${key}${to}`)).toEqual([
    "unreachable 10.8.7.128/26 metric 4294967295",
    "10.8.7.128/26 via 192.168.7.21 dev lan0",
  ]);
});

test("the routers of a prefix are those of all routes to its parts; without one its hosts are on the cable", () => {
  expect(routersTo(cidr("10.8.7.0/24"), network)).toEqual(ips("192.168.7.20", "192.168.7.21"));
  expect(routersTo(cidr("10.9.0.0/16"), network)).toEqual([]);
  const cable = { lanRoutes: [{ prefix: cidr("10.9.0.0/16"), via: null, interface: "lan0" }] };
  expect(routersTo(cidr("10.9.1.0/24"), cable)).toEqual([null]);
});

needsNamespaces.test("the kernel has the routes, and only those, whatever it had before", () =>
  inNamespace(async (host) => {
    const lines = ["link add lan0 type veth peer name lan1", "link set lan1 up", "link set lan0 up"];
    lines.push("address add 192.168.7.1/24 dev lan0", "address add fe80::1/64 dev lan0 nodad");
    await host.run(["ip", "-batch", "-"], { stdin: `${lines.join("\n")}\n` });
    const shown = async () => {
      const texts = ["-4", "-6"].map((family) => host.run(["ip", family, "route", "show", "table", "20564"]));
      return (await Promise.all(texts))
        .join("")
        .trim()
        .split("\n")
        .map((line) => line.trim())
        .sort();
    };
    const apply = (...prefixes: string[]) => applyRoutes(host, routesTo(routed(...prefixes), network));
    expect(await apply("10.8.0.0/16", "fd08::/64", "10.8.7.0/24")).toBe(true);
    const full = await shown();
    expect(full.map((line) => line.replace(/ (metric|proto|pref|dev lo) .*/, ""))).toEqual([
      "10.8.0.0/16 via 192.168.7.20 dev lan0",
      "10.8.7.0/24 via 192.168.7.20 dev lan0",
      "10.8.7.128/25 via 192.168.7.21 dev lan0",
      "fd08::/64 via fe80::20 dev lan0",
      "unreachable 10.8.0.0/16",
      "unreachable 10.8.7.0/24",
      "unreachable fd08::/64",
    ]);
    expect(await apply("10.8.0.0/16", "fd08::/64", "10.8.7.0/24")).toBe(true);
    expect(await shown()).toEqual(full);
    await host.run(["ip", "route", "del", "10.8.0.0/16", "via", "192.168.7.20", "table", "20564"]);
    expect(await apply("10.8.0.0/16", "fd08::/64", "10.8.7.0/24")).toBe(true);
    expect(await shown()).toEqual(full);
    expect(await apply()).toBe(true);
    expect(await shown()).toEqual([""]);
    const gone = [{ prefix: cidr("10.8.0.0/16"), via: LAN_ROUTES[0]?.via ?? null, interface: "lan7" }];
    expect(await applyRoutes(host, routesTo(routed("10.8.0.0/16"), { lanRoutes: gone }))).toBe(false);
    expect(await shown()).toEqual(["unreachable 10.8.0.0/16 metric 4294967295"]);
  }),
);

needsNamespaces.test("while the routing rules stand, a route by a router's own address is accepted", () =>
  inNamespace(async (host) => {
    const lines = ["link add lan0 type veth peer name lan1", "link set lan1 up", "link set lan0 up"];
    lines.push("address add 192.168.7.1/24 dev lan0", "address add fd07::1/64 dev lan0 nodad");
    await host.run(["ip", "-batch", "-"], { stdin: `${lines.join("\n")}\n` });
    await applyRules(host, rulesFor(network));
    const lanRoutes = [
      { prefix: cidr("10.8.0.0/16"), via: ip("192.168.7.20"), interface: "lan0" },
      { prefix: cidr("fd08::/64"), via: ip("fd07::20"), interface: "lan0" },
    ];
    expect(await applyRoutes(host, routesTo(routed("10.8.0.0/16", "fd08::/64"), { lanRoutes }))).toBe(true);
    const shown = await host.run(["ip", "-6", "route", "show", "table", "20564"]);
    expect(shown).toContain("fd08::/64 via fd07::20 dev lan0");
  }),
);

needsNamespaces.test("without the service, its rule to the routed networks does not count as altered", () =>
  inNamespace(async (host) => {
    await applyRules(host, [...rulesFor(network), ...routedRules(POLICIES.routed)]);
    const expected = { network, rules: rulesFor(network), isAsLoaded: null, fault: null };
    const { parts } = await inspect(host, expected);
    const rules = parts.filter(({ name }) => name.startsWith("routing rules"));
    expect(rules.map(({ holds }) => holds)).toEqual([true, true]);
    await host.run(["ip", "rule", "del", "priority", "90"]);
    expect((await inspect(host, expected)).routing).toBe(false);
  }),
);
