import { describe, expect, test } from "bun:test";
import { applyRules, readAllRules, readRules, ruleChanges } from "../../src/killswitch/kernel-rules.ts";
import { isRelayRule, relayRules } from "../../src/killswitch/relay.ts";
import { isRouterRule, routerRules } from "../../src/killswitch/router.ts";
import { exceptionRules, type Rule, rulesFor, withoutBarrier } from "../../src/killswitch/routing-rules.ts";
import type { Host } from "../../src/system/host.ts";
import { needsNamespaces } from "../fast.ts";
import { POLICIES } from "./example.ts";
import { inNamespace } from "./namespace.ts";

const RULES = rulesFor({ ...POLICIES.blocked, ipv6: "on" });
const ORDER = (a: Rule, b: Rule) =>
  a.family - b.family || a.priority - b.priority || a.text.localeCompare(b.text);

/** Rules of version 0.1. */
const FORMER = [
  "100 fwmark 0x504c lookup main",
  "101 fwmark 0x504c unreachable",
  "103 ipproto 17 sport 68 dport 67 lookup main",
  "104 to 192.168.7.0/24 lookup main",
  "105 lookup 20556",
  "106 unreachable",
];

/** Runs a program with an empty /etc/protocols. */
const HIDE = '[ ! -e /etc/protocols ] || mount --bind /dev/null /etc/protocols; exec "$@"';
const NAMELESS = ["unshare", "-m", "sh", "-c", HIDE, "sh"];

describe("the changes from one set of rules to another", () => {
  test("are none if nothing differs", () => {
    expect(ruleChanges(RULES, RULES)).toEqual([]);
    expect(ruleChanges(RULES, RULES.toReversed())).toEqual([]);
  });

  test("add what is missing before they remove what is surplus", () => {
    const [first, ...rest] = RULES.filter((rule) => rule.family === 4);
    if (first === undefined) throw new Error("there are rules");
    const foreign: Rule = { family: 4, priority: 50, text: "lookup main" };
    const changes = ruleChanges([...rest, foreign], [first, ...rest]);
    expect(changes[0]).toBe("rule add priority 10 fwmark 0x104c/0x18ff iif lo lookup main");
    expect(changes[1]).toStartWith("rule del priority 50");
  });
});

test("a port's mask, which newer kernels print, is left out if it is the whole port", async () => {
  const told = (mask: string) => [
    {
      priority: 40,
      src: "all",
      ipproto: "udp",
      sport: 68,
      sport_mask: mask,
      dport: 67,
      dport_mask: mask,
      table: "main",
    },
  ];
  const read = async (mask: string) => {
    const run = async (argv: readonly string[]) => JSON.stringify(argv.includes("-4") ? told(mask) : []);
    return (await readRules({ run } as unknown as Host)).map(({ text }) => text);
  };
  expect(await read("0xffff")).toEqual(["ipproto 17 sport 68 dport 67 lookup main"]);
  expect(await read("0xff")).toEqual(["ipproto 17 sport 68/0xff dport 67/0xff lookup main"]);
});

test("a resolver that is listed twice, or asked by two tunnels from one port, has one rule", () => {
  const [lookup] = POLICIES.lookup.lookups;
  const twice = lookup && { ...lookup, resolvers: [...lookup.resolvers, ...lookup.resolvers] };
  const policy = { ...POLICIES.lookup, lookups: [twice, lookup].filter((each) => each !== undefined) };
  expect(exceptionRules(policy)).toEqual(exceptionRules(POLICIES.lookup));
});

test("only the router's own address on the cable is asked, at three ports, and each rule is known as such", () => {
  const rules = routerRules(POLICIES.router);
  expect(rules.map(({ priority, text }) => `${priority} ${text}`)).toEqual([
    "33 to 192.168.8.1/32 ipproto 17 fwmark 0x124d/0x1fff iif lo dport 1900 lookup main",
    "33 to 192.168.8.1/32 ipproto 17 fwmark 0x124d/0x1fff iif lo dport 5351 lookup main",
    "33 to fe80::1/128 ipproto 17 fwmark 0x124d/0x1fff iif lo dport 5351 lookup main",
    "34 fwmark 0x124d/0x1fff unreachable",
    "34 fwmark 0x124d/0x1fff unreachable",
  ]);
  expect(rules.filter((rule) => !isRouterRule(rule))).toEqual([]);
  expect(RULES.filter(isRouterRule)).toEqual([]);
  expect(routerRules(POLICIES.blocked)).toEqual([]);
});

test("only the server of a relay gets what has its mark, at one port of its protocol, and each rule is known as such", () => {
  const rules = relayRules(POLICIES["relayed-direct"]);
  expect(rules.map(({ family, priority, text }) => `${family} ${priority} ${text}`)).toEqual([
    "4 21 to 192.0.2.1/32 ipproto 6 fwmark 0x134d/0x1fff iif lo dport 443 lookup main",
    "4 22 fwmark 0x134d/0x1fff unreachable",
    "6 22 fwmark 0x134d/0x1fff unreachable",
  ]);
  const both = relayRules(POLICIES["disguised-direct"]);
  expect(both.slice(0, 2).map(({ text }) => text)).toEqual([
    "to 2001:db8::1/128 ipproto 17 fwmark 0x134d/0x1fff iif lo dport 443 lookup main",
    "to 192.0.2.1/32 ipproto 6 fwmark 0x134d/0x1fff iif lo dport 443 lookup main",
  ]);
  expect([...rules, ...both].filter((rule) => !isRelayRule(rule))).toEqual([]);
  expect(RULES.filter(isRelayRule)).toEqual([]);
  expect([POLICIES.connected, { ...POLICIES["relayed-direct"], uplink: null }].flatMap(relayRules)).toEqual(
    [],
  );
});

needsNamespaces.describe("a kernel", () => {
  test.each([
    ["the rules of a gateway with a kill switch", RULES],
    ["the rules during a lookup", [...RULES, ...exceptionRules(POLICIES.lookup)]],
    ["the rules while the home router is asked", [...RULES, ...routerRules(POLICIES.router)]],
    ["the rules with a relay", [...RULES, ...relayRules(POLICIES["relayed-direct"])]],
    ["the rules with two relays", [...RULES, ...relayRules(POLICIES["disguised-direct"])]],
    ["the rules without the barrier", withoutBarrier(RULES)],
    ["no rules", []],
  ])("has, once they are applied, %s, and a second time nothing changes", (_, wanted) =>
    inNamespace(async (host) => {
      expect(await applyRules(host, wanted)).toBe(wanted.length);
      expect((await readRules(host)).toSorted(ORDER)).toEqual(wanted.toSorted(ORDER));
      expect(await applyRules(host, wanted)).toBe(0);
    }),
  );

  test.each([
    "priority 10 lookup main",
    "priority 10 from 10.0.0.0/8 lookup main",
    "priority 10 from 10.1.2.3 lookup main",
    "priority 50 to 8.8.8.8 lookup main",
    "priority 50 to 8.0.0.0/8 lookup default",
    "priority 20 fwmark 0x104c/0xffff lookup main",
    "priority 30 iif lo lookup main",
    "priority 40 not from 10.0.0.0/8 lookup main",
    "priority 40 ipproto 6 dport 80-90 lookup main",
    "priority 40 uidrange 0-1000 lookup main",
    "priority 80 tos 0x10 lookup main",
    "priority 80 lookup main suppress_prefixlength 0",
    "priority 90 prohibit",
    "priority 90 blackhole",
    "priority 80 goto 32766",
    "priority 55 lookup main",
    "priority 99 fwmark 0x104c lookup main",
  ])("loses a foreign rule at our priorities: %s", (foreign) =>
    inNamespace(async (host) => {
      await applyRules(host, RULES);
      await host.run(["ip", "-4", "rule", "add", ...foreign.split(" ")]);
      await applyRules(host, RULES);
      expect((await readRules(host)).toSorted(ORDER)).toEqual(RULES.toSorted(ORDER));
    }),
  );

  test.each([
    "not fwmark 0xca6c lookup main",
    "not from 10.0.0.0/8 lookup main",
    "to 8.8.8.8/32 lookup main",
  ])("tells of a rule ahead, in the words that add it: %s", (foreign) =>
    inNamespace(async (host) => {
      await applyRules(host, RULES);
      await host.run(["ip", "-4", "rule", "add", ...foreign.split(" ")]);
      expect((await readAllRules(host)).ahead).toEqual([{ family: 4, priority: 9, text: foreign }]);
    }),
  );

  test("loses the rules of version 0.1 once the current ones are in place", () =>
    inNamespace(async (host) => {
      const batch = FORMER.map((text) => `rule add priority ${text}\n`).join("");
      await host.run(["ip", "-4", "-batch", "-"], { stdin: batch });
      const present = await readRules(host);
      const changes = ruleChanges(
        present,
        RULES.filter(({ family }) => family === 4),
      );
      expect(changes.filter((line) => line.startsWith("rule add"))).toEqual(changes.slice(0, -FORMER.length));
      expect(changes.slice(-FORMER.length)).toEqual([
        "rule del priority 106",
        "rule del priority 105",
        "rule del priority 104",
        "rule del priority 103",
        "rule del priority 101",
        "rule del priority 100",
      ]);
      await applyRules(host, RULES);
      expect((await readRules(host)).toSorted(ORDER)).toEqual(RULES.toSorted(ORDER));
      expect(await host.run(["ip", "-4", "rule", "show"])).not.toContain("504c");
    }));

  test("keeps other programs' rules at the numbers of version 0.1", () =>
    inNamespace(async (host) => {
      await host.run(["ip", "-4", "rule", "add", "priority", "100", "fwmark", "0x1", "lookup", "100"]);
      await applyRules(host, RULES);
      expect(await host.run(["ip", "-4", "rule", "show"])).toContain("100:\tfrom all fwmark 0x1 lookup 100");
    }));

  test("takes a default route through the uplink's router, as DHCP gives it, with the rules in place", () =>
    inNamespace(async (host) => {
      await host.run(["ip", "link", "add", "up0", "type", "veth", "peer", "name", "up1"]);
      await host.run(["ip", "address", "add", "192.168.8.2/24", "dev", "up0"]);
      await host.run(["ip", "link", "set", "up0", "up"]);
      await applyRules(host, RULES);
      await host.run(["ip", "route", "add", "default", "via", "192.168.8.1", "dev", "up0"]);
      for (const destination of ["192.0.2.1", "192.168.8.1"]) {
        await expect(host.run(["ip", "route", "get", destination])).rejects.toThrow("unreachable");
      }
    }));

  test("does not let out what looks like DHCP but is a LAN client's, or is for a server on another link", () =>
    inNamespace(async (host) => {
      for (const [link, v4, v6] of [
        ["up0", "192.168.8.2/24", "fd00:8::2/64"],
        ["lan0", "192.168.7.1/24", "fd00:7::1/64"],
      ] as const) {
        await host.run(["ip", "link", "add", link, "type", "veth", "peer", "name", `${link}peer`]);
        await host.run(["ip", "link", "set", link, "up"]);
        await host.run(["ip", "link", "set", `${link}peer`, "up"]);
        await host.run(["ip", "address", "add", v4, "dev", link]);
        await host.run(["ip", "address", "add", v6, "dev", link, "nodad"]);
      }
      await host.writeSysctl("/proc/sys/net/ipv4/ip_forward", "1");
      await host.run(["ip", "route", "add", "default", "via", "192.168.8.1"]);
      await host.run(["ip", "route", "add", "default", "via", "fd00:8::1"]);
      const dhcp4 = ["ipproto", "udp", "sport", "68", "dport", "67"];
      const dhcp6 = ["ipproto", "udp", "sport", "546", "dport", "547"];
      const client4 = ["from", "192.168.7.9", "iif", "lan0"];
      const leadsTo = (...words: string[]) =>
        host.run(["ip", "route", "get", ...words]).then(
          (route) => / dev (\S+)/.exec(route)?.[1],
          () => "nowhere",
        );
      expect(await leadsTo("8.8.8.8", ...client4, ...dhcp4)).toBe("up0");
      await applyRules(host, RULES);
      expect(await leadsTo("8.8.8.8", ...client4, ...dhcp4)).toBe("nowhere");
      expect(await leadsTo("192.168.8.1", ...client4, ...dhcp4)).toBe("nowhere");
      expect(await leadsTo("8.8.8.8", ...dhcp4)).toBe("nowhere");
      expect(await leadsTo("2001:db8::8", ...dhcp6)).toBe("nowhere");
      expect(await leadsTo("2001:db8::8", "from", "fd00:7::9", "iif", "lan0", ...dhcp6)).toBe("nowhere");
      expect(await leadsTo("192.168.8.1", ...dhcp4)).toBe("up0");
      expect(await leadsTo("fe80::1", "oif", "up0", ...dhcp6)).toBe("up0");
    }));

  test("changes rules at the same priorities without removing the final rule for a moment", () =>
    inNamespace(async (host) => {
      const earlier = RULES.map((rule) => ({
        ...rule,
        text:
          rule.priority === 40 && rule.text.startsWith("to ")
            ? `ipproto 17 ${rule.family === 4 ? "sport 68 dport 67" : "sport 546 dport 547"} lookup main`
            : rule.text.replace(" iif lo", ""),
      }));
      await applyRules(host, earlier);
      const changes = ruleChanges(await readRules(host), RULES);
      expect(changes.filter((line) => /priority (20|30|80|90)/.test(line))).toEqual([]);
      await applyRules(host, RULES);
      expect((await readRules(host)).toSorted(ORDER)).toEqual(RULES.toSorted(ORDER));
    }));

  test("has them without names of protocols (Debian without netbase)", () =>
    inNamespace(async (host) => {
      const run: Host["run"] = (argv, options) => host.run([...NAMELESS, ...argv], options);
      const nameless: Host = Object.assign(Object.create(host), { run });
      expect(await applyRules(nameless, RULES)).toBe(RULES.length);
      expect(await applyRules(nameless, RULES)).toBe(0);
      expect(await applyRules(host, RULES)).toBe(0);
    }));

  test("has the same rules after the uplink's interface was away", () =>
    inNamespace(async (host) => {
      await applyRules(host, RULES);
      await host.run(["ip", "link", "add", "up0", "type", "veth", "peer", "name", "up1"]);
      expect(await applyRules(host, RULES)).toBe(0);
      await host.run(["ip", "link", "del", "up0"]);
      expect(await applyRules(host, RULES)).toBe(0);
    }));

  test("keeps a rule at another priority", () =>
    inNamespace(async (host) => {
      await host.run(["ip", "-4", "rule", "add", "priority", "5000", "from", "10.0.0.0/8", "lookup", "main"]);
      await applyRules(host, RULES);
      await applyRules(host, []);
      expect(await host.run(["ip", "-4", "rule", "show"])).toContain("5000:\tfrom 10.0.0.0/8 lookup main");
    }));
});
