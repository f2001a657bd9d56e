import { describe, expect, test } from "bun:test";
import type { Prefix } from "../../src/base/address.ts";
import { bootFilesFor } from "../../src/killswitch/boot-files.ts";
import { chainsListed, elementChanges } from "../../src/killswitch/listing.ts";
import { mergedPolicy } from "../../src/killswitch/policy.ts";
import { directRules, rulesFor } from "../../src/killswitch/routing-rules.ts";
import { openRulesetOf, rulesetOf } from "../../src/killswitch/ruleset.ts";
import { MARK_MASK } from "../../src/network/slot.ts";
import { cidrs } from "../fake/address.ts";
import { assigned, NETWORK, POLICIES } from "./example.ts";

const { direct, blocked } = POLICIES;
const MARK = "0x0000104f";
const rulesOf = (chain: string, text = rulesetOf(direct)) => chainsListed(text).get(chain) ?? [];

describe("without a direct device", () => {
  test.each(Object.entries(POLICIES).filter(([name]) => !name.endsWith("direct")))(
    "nothing in the kernel of a gateway that is %s mentions the mark",
    (_, policy) => {
      for (const text of [rulesetOf(policy), openRulesetOf(policy)]) expect(text).not.toContain(MARK);
      expect(directRules(policy)).toEqual([]);
    },
  );

  test("what is loaded at boot refuses all devices", () => {
    for (const { text } of bootFilesFor(NETWORK)) expect(text).not.toMatch(/104f/);
  });
});

test("the routing rules send the mark to the machine's own routes or nowhere, and none before them to a tunnel", () => {
  const mark = `fwmark 0x104f/0x${MARK_MASK.toString(16)}`;
  expect(directRules(direct)).toEqual([
    { family: 4, priority: 55, text: `${mark} lookup main` },
    { family: 6, priority: 55, text: `${mark} lookup main` },
    { family: 4, priority: 57, text: `${mark} unreachable` },
    { family: 6, priority: 57, text: `${mark} unreachable` },
  ]);
  const earlier = rulesFor(NETWORK).filter(({ priority }) => priority < 57);
  const exits = earlier.flatMap(
    ({ text }) => /^fwmark (\S+)\/(\S+) (?:lookup 205|unreachable)/.exec(text) ?? [],
  );
  expect(exits.length).toBeGreaterThan(0);
  const marks = exits.filter((each) => each.startsWith("0x")).map(Number);
  for (let at = 0; at < marks.length; at += 2)
    expect(Number(MARK) & Number(marks[at + 1])).not.toBe(Number(marks[at]));
});

test("only what has the mark passes between the LAN and the uplink, and back only what belongs to it", () => {
  const pairs = rulesOf("forward").filter((rule) => rule.includes('"up0"'));
  expect(pairs.length).toBeGreaterThan(0);
  for (const rule of pairs) {
    expect(rule).toContain(`meta mark & 0x00001fff == ${MARK}`);
    if (rule.startsWith('iifname "up0"'))
      expect(rule).toContain("ct direction reply ct state established,related");
  }
});

test("the gateway's own packets with the mark are not accepted", () => {
  expect(rulesOf("output").filter((rule) => rule.includes(MARK))).toEqual([]);
  expect(rulesOf("output").filter((rule) => /oifname "up0" accept/.test(rule))).toEqual([]);
});

test("with an uplink that is down, direct devices are refused like blocked ones", () => {
  const devices = direct.devices.map(({ id, exit }) =>
    exit.to === "direct" ? assigned(id, "blocked") : { id, exit },
  );
  const refused = rulesetOf({ ...direct, devices });
  for (const down of [{ online: false }, { uplink: null }]) {
    const text = rulesetOf({ ...direct, ...down });
    expect(text).not.toContain(MARK);
    if ("online" in down) expect(text).toBe(refused);
    expect(directRules({ ...direct, ...down })).toEqual([]);
  }
});

test("one more direct device changes only elements", () => {
  const third = assigned("02:00:00:00:00:09", "direct");
  const more = { ...direct, devices: [...direct.devices, third] };
  const added = (set: string, type: string, element: unknown) => ({
    ...{ verb: "add", table: "portcullis", set, type },
    elements: [element],
  });
  expect<unknown>(elementChanges(rulesetOf(direct), rulesetOf(more))).toEqual([
    added("assigned", "ether_addr", "02:00:00:00:00:09"),
    added("on_direct", "ether_addr", "02:00:00:00:00:09"),
    added("exit_of", "ether_addr : verdict", "02:00:00:00:00:09 : goto exit_direct"),
    added("direct_zones", "ct original zone", expect.stringMatching(/^\d{5}$/)),
  ]);
});

test("queries to the gateway go to resolvers beyond the uplink, never to the gateway or another LAN", () => {
  const redirects = rulesOf("redirect_dns").filter((rule) => rule.includes(MARK));
  expect(redirects.map((rule) => / to (\S+) comment/.exec(rule)?.[1])).toEqual(["192.168.8.1", "fd00:8::1"]);
  const none = rulesetOf({ ...direct, resolvers: [] });
  expect(rulesOf("redirect_dns", none).filter((rule) => rule.includes(MARK))).toEqual([]);
  // Of an address family without one.
  expect(
    rulesOf("input", none).filter((rule) => rule.includes(MARK) && rule.includes("reject")),
  ).toHaveLength(2);
});

test("with the kill switch off, a direct device alone needs a table", () => {
  const devices = [assigned("02:00:00:00:00:05", "direct")];
  expect(openRulesetOf({ ...blocked, devices })).toContain("masquerade");
});

describe("remote devices", () => {
  const remote = POLICIES["remote-direct"];
  const text = rulesetOf(remote);

  test("only direct ones get the mark, each with its own zone, and whatever else gets there is dropped", () => {
    const rules = rulesOf("exit_direct_remote", text).map((rule) => rule.replace(/ comment .*/, ""));
    expect(rules.slice(1)).toEqual([
      "ip saddr 10.200.7.5 ct original zone set 16389 accept",
      "ip6 saddr fd00:200::5 ct original zone set 16389 accept",
      "ip saddr 10.200.7.6 ct original zone set 16390 accept",
      "ip6 saddr fd00:200::6 ct original zone set 16390 accept",
      "drop",
    ]);
    const leads = [...text.matchAll(/(.*) goto exit_direct_remote /g)].map(([, match = ""]) => match);
    expect(leads.length).toBe(4);
    for (const match of leads) expect(match).toMatch(/saddr \{ \S+[:.]5, \S+[:.]6 \}$/);
  });

  test("pass to the uplink only with the mark and their own address, and get only replies", () => {
    const pairs = rulesOf("forward", text).filter((rule) => rule.includes('"up0"'));
    expect(pairs.map((rule) => rule.replace(/ comment .*/, ""))).toEqual([
      `iifname "up0" oifname "wgr" ip daddr { 10.200.7.5, 10.200.7.6 } meta mark & 0x00001fff == ${MARK} ct direction reply ct state established,related accept`,
      `iifname "up0" oifname "wgr" ip6 daddr { fd00:200::5, fd00:200::6 } meta mark & 0x00001fff == ${MARK} ct direction reply ct state established,related accept`,
      `iifname "wgr" oifname "up0" meta mark & 0x00001fff == ${MARK} jump remote_into_uplink`,
    ]);
    for (const rule of rulesOf("remote_into_uplink", text).filter((each) => each.includes(" accept")))
      expect(rule).toMatch(/saddr (10\.200\.7\.[56]|fd00:200::[56]) /);
  });

  test("one that may not reach the LAN does not reach the network of the uplink either", () => {
    const last = (name: keyof typeof POLICIES) =>
      rulesOf("remote_into_uplink", rulesetOf(POLICIES[name]))
        .filter((rule) => rule.includes("saddr 10.200.7.6 ip daddr"))
        .map((rule) => rule.replace(/ comment .*/, ""));
    const [away, cable] = [
      "192.168.7.0/24 ip daddr != 10.5.0.0/16 ip daddr != 192.168.8.0/24",
      "192.168.7.0/24",
    ];
    const known = "ct direction original ct state established,related ";
    for (const [name, home] of [
      ["remote-direct", away],
      ["one-armed-remote-direct", cable],
    ] as const)
      expect(last(name)).toEqual([
        `ip saddr 10.200.7.6 ip daddr != ${home} ${known}accept`,
        `ip saddr 10.200.7.6 ip daddr != ${home} accept`,
      ]);
  });

  test("a network behind another router is never direct, whatever was decided for it", () => {
    const exit = { to: "direct" } as const;
    const part = { routed: [{ prefix: cidrs("10.9.0.0/24")[0] as Prefix, exit }] };
    const { routed } = mergedPolicy(new Map([["DEVICES", part]]), {
      ...NETWORK,
      lanRoutes: [{ prefix: part.routed[0]?.prefix as Prefix, via: null, interface: "lan0" }],
    });
    expect(routed).toEqual([{ ...part.routed[0], exit: { to: "blocked" } }] as never);
  });

  test("without a carrier they are blocked, and nothing has the mark", () => {
    const offline = rulesetOf({ ...remote, online: false });
    expect(offline).not.toContain(MARK);
    expect(offline).toContain("ip saddr { 10.200.7.4, 10.200.7.5, 10.200.7.6 } goto exit_blocked");
  });
});
