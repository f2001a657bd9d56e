import { describe, expect, test } from "bun:test";
import {
  applyRules,
  lookupRules,
  type Rule,
  readRules,
  ruleChanges,
  rulesFor,
  withoutBarrier,
} from "../../src/killswitch/routing-rules.ts";
import type { Host } from "../../src/system/host.ts";
import { POLICIES } from "./example.ts";
import { inNamespace } from "./namespace.ts";

const RULES = rulesFor({ ...POLICIES.blocked, ipv6: "on" });
const ORDER = (a: Rule, b: Rule) =>
  a.family - b.family || a.priority - b.priority || a.text.localeCompare(b.text);

/** Starts a program that sees no names in /etc/protocols. */
const HIDE = '[ ! -e /etc/protocols ] || mount --bind /dev/null /etc/protocols; exec "$@"';
const NAMELESS = ["unshare", "-m", "sh", "-c", HIDE, "sh"];

describe("the changes from one set of rules to another", () => {
  test("are none where nothing differs", () => {
    expect(ruleChanges(RULES, RULES)).toEqual([]);
    expect(ruleChanges(RULES, RULES.toReversed())).toEqual([]);
  });

  test("add what is missing before they remove what is surplus", () => {
    const [first, ...rest] = RULES.filter((rule) => rule.family === 4);
    if (first === undefined) throw new Error("there are rules");
    const foreign: Rule = { family: 4, priority: 104, text: "lookup main" };
    const changes = ruleChanges([...rest, foreign], [first, ...rest]);
    expect(changes[0]).toBe("rule add priority 100 fwmark 0x504c iif lo lookup main");
    expect(changes[1]).toStartWith("rule del priority 104");
  });
});

test("a port's mask, as newer kernels tell it, is left out where it is the whole port", async () => {
  const told = (mask: string) => [
    {
      priority: 103,
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

describe("a kernel", () => {
  test.each([
    ["the rules of a gateway with a kill switch", RULES],
    ["the rules during a lookup", [...RULES, ...lookupRules(POLICIES.lookup.lookup)]],
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
    "priority 100 lookup main",
    "priority 100 from 10.0.0.0/8 lookup main",
    "priority 100 from 10.1.2.3 lookup main",
    "priority 104 to 8.8.8.8 lookup main",
    "priority 104 to 8.0.0.0/8 lookup default",
    "priority 101 fwmark 0x504c/0xffff lookup main",
    "priority 102 iif lo lookup main",
    "priority 103 not from 10.0.0.0/8 lookup main",
    "priority 103 ipproto 6 dport 80-90 lookup main",
    "priority 103 uidrange 0-1000 lookup main",
    "priority 105 tos 0x10 lookup main",
    "priority 105 lookup main suppress_prefixlength 0",
    "priority 106 prohibit",
    "priority 106 blackhole",
    "priority 105 goto 32766",
  ])("is rid of a rule at our priorities that is not ours: %s", (foreign) =>
    inNamespace(async (host) => {
      await applyRules(host, RULES);
      await host.run(["ip", "-4", "rule", "add", ...foreign.split(" ")]);
      await applyRules(host, RULES);
      expect((await readRules(host)).toSorted(ORDER)).toEqual(RULES.toSorted(ORDER));
    }),
  );

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

  test("keeps in what looks like DHCP but is a LAN client's, or is for a server that is not on the cable", () =>
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

  test("changes from what an earlier version has set to these without a moment in which the barrier is away", () =>
    inNamespace(async (host) => {
      const earlier = RULES.map((rule) => ({
        ...rule,
        text:
          rule.priority === 103 && rule.text.startsWith("to ")
            ? `ipproto 17 ${rule.family === 4 ? "sport 68 dport 67" : "sport 546 dport 547"} lookup main`
            : rule.text.replace(" iif lo", ""),
      }));
      await applyRules(host, earlier);
      const changes = ruleChanges(await readRules(host), RULES);
      expect(changes.filter((line) => /priority 10[1-256]/.test(line))).toEqual([]);
      await applyRules(host, RULES);
      expect((await readRules(host)).toSorted(ORDER)).toEqual(RULES.toSorted(ORDER));
    }));

  test("has them where no file names the protocols (Debian without netbase)", () =>
    inNamespace(async (host) => {
      const run: Host["run"] = (argv, options) => host.run([...NAMELESS, ...argv], options);
      const nameless: Host = Object.assign(Object.create(host), { run });
      expect(await applyRules(nameless, RULES)).toBe(RULES.length);
      expect(await applyRules(nameless, RULES)).toBe(0);
      expect(await applyRules(host, RULES)).toBe(0);
    }));

  test("has the same rules when the uplink's interface goes and comes", () =>
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
