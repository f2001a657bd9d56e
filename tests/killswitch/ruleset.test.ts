import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { chainsListed, finalRulesStand, sameMeaning } from "../../src/killswitch/listing.ts";
import type { DefaultExit, FirewallTunnel, Policy } from "../../src/killswitch/policy.ts";
import { openRulesetOf, rulesetOf } from "../../src/killswitch/ruleset.ts";
import { listTable, loadTable } from "../../src/killswitch/table.ts";
import { cidrs, ips } from "../fake/address.ts";
import { needsNamespaces, runs } from "../fast.ts";
import { expectGolden } from "../golden/golden.ts";
import { assigned, POLICIES } from "./example.ts";
import { inNamespace } from "./namespace.ts";

const TEXTS: Record<string, string> = {
  ...Object.fromEntries(Object.entries(POLICIES).map(([name, policy]) => [name, rulesetOf(policy)])),
  "open-connected": openRulesetOf(POLICIES.connected),
  "open-remote": openRulesetOf(POLICIES.remote),
  "open-direct": openRulesetOf({ ...POLICIES.direct, endpoints: [], carrying: [] }),
};

describe.each(Object.entries(TEXTS))("the ruleset of a gateway that is %s", (name, text) => {
  test("is exactly the text in its file", async () => {
    await expectGolden(`${import.meta.dir}/${name}.nft`, text);
  });

  needsNamespaces.test("is accepted by nft", async () => {
    await inNamespace((host) => host.run(["nft", "-c", "-f", "-"], { stdin: text }));
  });

  needsNamespaces.test("has the same meaning in the kernel's listing, and none but that", async () => {
    await inNamespace(async (host) => {
      await loadTable(host, text);
      const [given, listed] = [chainsListed(text), chainsListed((await listTable(host)) ?? "")];
      expect(sameMeaning(listed, given)).toBe(true);
      for (const [rule, other] of [
        ["goto exit_main", "goto exit_blocked"],
        ["10.64.0.1", "10.64.0.9"],
      ] as const)
        if (text.includes(rule))
          expect(sameMeaning(listed, chainsListed(text.replace(rule, other)))).toBe(false);
    });
  });
});

test("every rule has a comment", () => {
  for (const text of Object.values(TEXTS)) {
    const rules = text
      .split("\n")
      .filter((line) => line.startsWith("    ") && !/policy |^ {4}(type|typeof|elements) /.test(line));
    expect(rules.filter((rule) => !/comment "[^"]+"$/.test(rule))).toEqual([]);
  }
});

const rulesOf = (chain: string) => chain.split("\n").filter((line) => line.includes("comment"));

test("the verdict maps of devices, which seem empty while the table is replaced, have the sets behind them", () => {
  for (const text of Object.values(TEXTS)) {
    const looking = text.split(/^ {2}(?=chain )/m).filter((chain) => chain.includes("vmap @"));
    if (looking.length === 0) continue;
    for (const own of looking) {
      const [alike, map, rest] = rulesOf(own).slice(-3);
      expect(alike).toContain("meta nfproto @all_alike ");
      expect(map).toContain("ether saddr vmap @exit_of");
      expect(rest).toContain("goto by_device_sets ");
      expect(own.split("vmap @").length).toBe(2);
    }
    const chainNamed = (name: string) =>
      text.split(/^ {2}(?=chain )/m).find((chain) => chain.startsWith(`chain ${name} `)) ?? "";
    expect(rulesOf(chainNamed("by_device_sets"))[0]).toContain("ether saddr @assigned goto own_exit");
    const rules = rulesOf(chainNamed("own_exit"));
    const sets = [...text.matchAll(/^ {2}set (on_\S+) /gm)].map(([, name]) => name);
    const gone = rules.map((rule) => /ether saddr @(\S+) goto/.exec(rule)?.[1]);
    expect(gone).toEqual([...sets, undefined]);
    expect(rules.at(-1)).toContain("goto exit_blocked");
  }
});

test("the verdict map of interfaces, which seems empty then too, has the same comparisons behind it", () => {
  const maps = Object.values(TEXTS).flatMap((text) =>
    text
      .split("\n")
      .filter((line) => line.includes(" vmap {"))
      .map((map) => ({ map, text })),
  );
  expect(maps.length).toBeGreaterThan(0);
  for (const { map, text } of maps) {
    const entries = [...map.matchAll(/"(\w+)" : (goto \w+|accept)/g)];
    expect(entries.length).toBe(map.split(" : ").length - 1);
    const [chain = ""] = text.split(/^ {2}(?=chain )/m).filter((each) => each.includes(map));
    const behind = rulesOf(chain.slice(chain.indexOf(map) + map.length));
    const compared = entries.map(([, name, verdict]) => `    iifname "${name}" ${verdict} `);
    expect(compared.map((rule, at) => behind[at]?.startsWith(rule))).toEqual(compared.map(() => true));
  }
});

test("devices are looked up only while one is assigned, or if the map that says so was emptied", () => {
  const { devices } = POLICIES;
  const alike = (policy: Policy) => chainsListed(rulesetOf(policy)).get("set all_alike")?.slice(1);
  const none = { ...devices, devices: [] };
  expect([alike(devices), alike(none)]).toEqual([[], ["10", "2"]]);
  const first = (policy: Policy) =>
    ["from_lan0", "ipv6_out_of_lan0", "by_device"].map((name) => linesOf(rulesetOf(policy), name).at(-4));
  const jump = (exit: string) => `meta nfproto @all_alike goto exit_${exit}`;
  const main =
    "meta nfproto @all_alike meta mark set meta mark & 0xffffe000 | 0x0000104e ct zone set 1 accept";
  expect(first(none)).toEqual([main, main, jump("main")]);
  const blocks = { ...none, defaultExit: { to: "blocked" } } as const;
  expect(first(blocks)).toEqual([jump("blocked"), jump("blocked"), jump("blocked")]);
  expect(first(devices)).toEqual(first(none));
});

test("no rule has a set of prefixes, which seems empty while the table is replaced", () => {
  for (const text of Object.values(TEXTS)) expect(text).not.toMatch(/\{[^{}\n]*\/[0-9]+[^{}\n]*\}/);
});

test("remote devices with the same rules share a chain, however many there are", () => {
  const ids = Array.from({ length: 20 }, (_, index) => `10.200.7.${index + 2}`);
  const remote = POLICIES["destinations-direct"].remote;
  const [first] = remote?.devices ?? [];
  if (remote === undefined || first === undefined) throw new Error("no remote device");
  const prefixes = cidrs(...Array.from({ length: 256 }, (_, index) => `198.51.${index}.0/24`));
  const text = rulesetOf({
    ...POLICIES["destinations-direct"],
    remote: {
      ...remote,
      devices: ids.map((id) => ({ ...first, id: cidrs(`${id}/32`)[0] ?? first.id, addresses: ips(id) })),
    },
    destinations: [{ prefixes, devices: cidrs(...ids.map((id) => `${id}/32`)), exit: { to: "blocked" } }],
  });
  expect(text.split("198.51.255.0").length - 1).toBe(1);
  expect(text.match(/goto of_10_200_7_2_32_to_ipv4/g)).toHaveLength(ids.length);
});

test("no chain is defined twice while servers are asked that share an interface", () => {
  const asked = ips("192.0.2.8", "192.0.2.9").map((address) => ({
    ...POLICIES.connecting.endpoints[0],
    ...{ interface: "wg1", addresses: [], resolvers: [], endpoint: { address, port: 51820 } },
  }));
  const endpoints = [...POLICIES.connected.endpoints, ...asked] as FirewallTunnel[];
  const text = rulesetOf({ ...POLICIES.connected, endpoints });
  const chains = [...text.matchAll(/chain (\S+)/g)].map(([, name]) => name);
  expect(chains).toContain("from_wg1");
  expect(chains).toEqual([...new Set(chains)]);
});

test("that ports may have changed is announced to the LAN only, and only if devices can ask for ports", () => {
  const announcement =
    'ip daddr 224.0.0.1 udp sport 5351 udp dport 5350 accept comment "NAT-PMP: ports may have changed; routers never forward this address"';
  const linesOf = (policy: Policy) =>
    rulesetOf(policy)
      .split("\n")
      .flatMap((line) => (line.includes("224.0.0.1 ") ? [line.trim()] : []));
  expect(linesOf({ ...POLICIES.connected, announces: true })).toEqual([
    `oifname "lan0" ${announcement}`,
    `oifname "br-lan.5" ${announcement}`,
  ]);
  expect(linesOf(POLICIES.connected)).toEqual([]);
});

test("with the kill switch off and no tunnel there is no table", () => {
  expect(openRulesetOf(POLICIES.blocked)).toBe("add table inet portcullis\ndelete table inet portcullis\n");
});

needsNamespaces.test("loading one ruleset over another leaves nothing of the first", () =>
  inNamespace(async (host) => {
    const load = (policy: Policy) => host.run(["nft", "-f", "-"], { stdin: rulesetOf(policy) });
    const list = () => host.run(["nft", "-s", "list", "ruleset"]);
    await load(POLICIES.blocked);
    const before = await list();
    await load(POLICIES.switching);
    expect(await list()).not.toBe(before);
    await load(POLICIES.blocked);
    expect(await list()).toBe(before);
  }),
);

/** Any policy: without LAN, without uplink, with addresses of one family, or with none. */
const WITHOUT_REMOTE = fc.record({
  lans: fc.subarray([
    ...POLICIES.blocked.lans,
    { interface: "lan4", prefixes: cidrs("192.168.0.0/16", "192.168.7.0/24") },
    { interface: "lan6", prefixes: cidrs("fd06::/64", "fd06::/48") },
    { interface: "empty", prefixes: [] },
    // A chain has the name of its interface in its own.
    { interface: "0-drop.", prefixes: cidrs("192.168.9.0/24") },
    { interface: "up0", prefixes: cidrs("192.168.8.0/24", "fe80::/10") },
  ]),
  uplink: fc.constantFrom("up0", null),
  uplinkAddresses: fc.subarray(ips("192.168.8.2", "fd00:8::2", "2001:db8::2", "fe80::2")),
  ...{ routers: fc.subarray(ips("192.168.8.1", "fe80::1")), searchPort: fc.constantFrom(20_500, 20_501) },
  uplinkPrefixes: fc.subarray(cidrs("192.168.8.0/24", "10.0.0.0/8", "fd00:8::/64")),
  addresses: addresses(),
  ...{ online: fc.boolean(), resolvers: addresses(), announces: fc.boolean() },
  ...{ endpoints: tunnels(), carrying: tunnels(), defaultExit: exit() },
  devices: fc
    .uniqueArray(fc.tuple(fc.constantFrom("02:00:00:00:00:01", "02:00:00:00:00:02"), exitName()), {
      selector: ([mac]) => mac,
    })
    .map((all) => all.map(([mac, name]) => assigned(mac, name))),
  routed: fc
    .uniqueArray(fc.tuple(fc.constantFrom(...cidrs("10.8.0.0/24", "10.8.0.5/32", "fd08::/64")), exit()), {
      selector: ([prefix]) => prefix,
    })
    .map((all) => all.map(([prefix, to]) => ({ prefix, exit: to }))),
  destinations: fc.array(
    fc.record({
      prefixes: fc.subarray(cidrs("203.0.113.0/24", "203.0.113.7/32", "128.0.0.0/2", "2001:db8::/33"), {
        minLength: 1,
      }),
      devices: fc.subarray([assigned("02:00:00:00:00:01", "main").id, ...cidrs("10.8.0.0/24")]),
      exit: exitName().map((name) => assigned("02:00:00:00:00:01", name).exit),
    }),
    { maxLength: 4 },
  ),
  forwards: fc.array(
    fc.record({
      interface: fc.constantFrom("wg0", "wg1"),
      protocol: fc.constantFrom("tcp", "udp"),
      inside: fc.constantFrom(1, 53, 65_535),
      to: fc.constantFrom(...ips("192.168.7.20", "fd06::20")),
      port: fc.constantFrom(22, 6881),
    }),
    { maxLength: 3 },
  ),
  contacts: fc.array(
    fc.record({
      tunnel: fc.constantFrom("main", "amsterdam"),
      interface: fc.constantFrom("wg0", "wg1"),
      protocol: fc.constantFrom("tcp", "udp"),
      address: fc.constantFrom(...ips("10.64.0.1", "fd00:64::1")),
      port: fc.constantFrom(5351),
    }),
    { maxLength: 2 },
  ),
  lookups: fc.array(fc.record({ resolvers: addresses(), sourcePort: fc.constantFrom(20053, 20054) }), {
    maxLength: 2,
  }),
  exemptions: fc.array(
    fc.record({ addresses: addresses(), port: fc.constant(443), sourcePort: fc.constantFrom(20443, 20444) }),
    { maxLength: 2 },
  ),
});

const POLICY = fc.tuple(WITHOUT_REMOTE, remote(), resolver()).map(
  ([policy, remote, own]): Policy => ({
    ...policy,
    ...(remote && { remote: remote }),
    ...(own && { resolver: own }),
  }),
);

/** The gateway's own resolver, or none: a port is open or not, and a network has known routers, none, or hosts on the cable. */
function resolver() {
  const [mac, router] = [assigned("02:00:00:00:00:01", "main").id, assigned("02:00:00:00:00:20", "main").id];
  const asker = fc.record({
    id: fc.constantFrom(mac, router, ...cidrs("10.8.0.0/24", "10.8.0.5/32", "fd08::/64")),
    port: fc.constantFrom(null, 10_054, 10_055, 16_383),
    routers: fc.constantFrom(null, [], [router], [mac, router]),
  });
  const askers = fc.uniqueArray(asker, { selector: ({ id }) => id, maxLength: 3 });
  return fc.option(fc.record({ port: fc.constant(10_053), askers }), { nil: undefined });
}

/** Remote devices, or none; with an uplink some of them may be direct. */
function remote() {
  const device = fc.record({
    number: fc.integer({ min: 2, max: 254 }),
    lan: fc.boolean(),
    exit: fc.oneof(exit(), fc.constant({ to: "direct" } as const)),
  });
  const devices = fc.uniqueArray(device, { selector: ({ number }) => number, maxLength: 4 });
  return fc.option(
    fc.record({ through: fc.constantFrom(null, "main", "amsterdam"), devices }).map((given) => ({
      ...{ interface: "wgr", port: 51_820, through: given.through },
      addresses: ips("10.200.7.1", "fd00:200::1"),
      networks: cidrs("10.200.7.0/24", "fd00:200::/64"),
      devices: given.devices.map(({ number, lan, exit: to }) => ({
        ...{ id: cidrs(`10.200.7.${number}/32`)[0] ?? never(), lan, exit: to },
        addresses: ips(`10.200.7.${number}`, `fd00:200::${number}`),
      })),
    })),
    { nil: undefined },
  );
}

function never(): never {
  throw new Error("one prefix was given");
}

function exitName() {
  return fc.constantFrom("main", "amsterdam", "berlin", "blocked", "direct");
}

function exit() {
  return fc.constantFrom<DefaultExit>(
    { to: "blocked" },
    ...["main", "amsterdam", "berlin"].map((name) => ({ to: "tunnel", name }) as const),
  );
}

function tunnels() {
  const tunnel = (like: FirewallTunnel) =>
    fc
      .record({
        tunnel: fc.constantFrom("main", "amsterdam"),
        interface: fc.constant(like.interface),
        mark: fc.constant(like.mark),
        zone: fc.constant(like.zone),
        endpoint: fc.constant(like.endpoint),
        addresses: addresses(),
        resolvers: addresses(),
      })
      .chain((each) =>
        fc.constantFrom(each, { ...each, relay: "tcp" as const }, { ...each, relay: "udp" as const }),
      );
  const [first, second] = POLICIES.switching.endpoints;
  return fc.oneof(
    fc.constant([]),
    ...[first, second].flatMap((one) => (one === undefined ? [] : [fc.tuple(tunnel(one))])),
    ...(first === undefined || second === undefined ? [] : [fc.tuple(tunnel(first), tunnel(second))]),
  );
}

function addresses() {
  return fc.subarray(ips("10.64.0.1", "10.64.0.9", "192.168.7.53", "fd00:64::1", "fd00:64::9"));
}

test("whatever the policy, the final rules are in place", () => {
  fc.assert(fc.property(POLICY, (each) => finalRulesStand(rulesetOf(each))));
});

needsNamespaces.test(
  "whatever the policy, nft accepts its ruleset",
  () =>
    inNamespace((host) =>
      fc.assert(
        fc.asyncProperty(POLICY, async (each) => {
          for (const text of [rulesetOf(each), openRulesetOf(each)]) {
            expect(text).not.toMatch(/null|undefined|\{ {2}\}/);
            await host.run(["nft", "-c", "-f", "-"], { stdin: text });
          }
        }),
        { numRuns: runs(150) },
      ),
    ),
  180_000,
);

function linesOf(text: string, name: string): string[] {
  const [, rest = ""] = text.split(`chain ${name} {\n`);
  return (rest.split("  }\n")[0] ?? "").split("\n").map((line) => line.trim().replace(/ comment .*/, ""));
}

test("a device on a tunnel has that tunnel's mark and zone, and only that zone may enter the tunnel", () => {
  const text = rulesetOf(POLICIES.devices);
  expect(linesOf(text, "by_device")).toEqual([
    "meta nfproto @all_alike goto exit_main",
    "ether saddr vmap @exit_of",
    "goto by_device_sets",
    "",
  ]);
  expect(linesOf(text, "by_device_sets")).toEqual([
    "ether saddr @assigned goto own_exit",
    "ether saddr & 00:00:00:00:00:00 @assigned goto exit_main",
    "meta iiftype != ether goto exit_main",
    "goto exit_blocked",
    "",
  ]);
  expect(linesOf(text, "own_exit")).toEqual([
    "ether saddr @on_main goto exit_main",
    "ether saddr @on_amsterdam goto exit_amsterdam",
    "goto exit_blocked",
    "",
  ]);
  for (const [exit, link, mark, zone] of [
    ["main", "wg0", "0x0000104e", 1],
    ["amsterdam", "wg2", "0x0000114e", 3],
  ] as const) {
    expect(linesOf(text, `exit_${exit}`)).toEqual([
      `meta mark set meta mark & 0xffffe000 | ${mark} ct zone set ${zone} accept`,
      "",
    ]);
    expect(linesOf(text, `into_${link}`)[0]).toBe(`ct zone != ${zone} drop`);
  }
  expect(linesOf(text, "forward").slice(1, 3)).toEqual([
    'ct direction reply iifname { "wg0", "wg2" } oifname { "lan0", "br-lan.5" } ct state established,related accept',
    'iifname { "lan0", "br-lan.5" } ct state established,related ct zone . oifname { 1 . "wg0", 3 . "wg2" } accept',
  ]);
});

test("over IPv6, what goes from the LAN's own prefix to a public address passes one check, unless it is the gateway's", () => {
  const { connected } = POLICIES;
  const checked = (policy: Policy) =>
    linesOf(rulesetOf(policy), "ipv6_from_lan0").filter((rule) => rule.includes("goto ipv6_out_of_lan0"));
  const usual = "ip6 saddr fd00:7::/64 ip6 daddr 2000::/3";
  expect(checked(connected)).toEqual([`${usual} goto ipv6_out_of_lan0`, "goto ipv6_out_of_lan0"]);
  const own = { ...connected, addresses: [...connected.addresses, ...ips("2001:db8:8::2")] };
  expect(checked(own)[0]).toBe(`${usual} ip6 daddr != 2001:db8:8::2 goto ipv6_out_of_lan0`);
  // A network behind a router of the LAN may have public addresses.
  const [lan, ...others] = connected.lans;
  const lans = [
    { interface: "lan0", prefixes: cidrs(...(lan?.prefixes ?? []), "2001:db8:7::/64") },
    ...others,
  ];
  expect(checked({ ...connected, lans })).toEqual(checked(connected));
});

test("of destinations with an exit of their own, only packets to these are asked for their device", () => {
  const text = rulesetOf(POLICIES["destinations-direct"]);
  expect(linesOf(text, "from_lan0")).toContain("meta nfproto ipv4 jump all_to_ipv4");
  expect(linesOf(text, "all_to_ipv4").filter((rule) => !rule.startsWith("ip daddr"))).toEqual([""]);
  expect(linesOf(text, "unblocked_by_direct")).toEqual([
    "ether saddr @blocked_devices return",
    "goto leave_by_direct",
    "",
  ]);
});

test("the gateway itself leaves by main, whatever the default exit", () => {
  const output = (policy: Policy) => linesOf(rulesetOf(policy), "output");
  const { connected } = POLICIES;
  // WireGuard's packets, questions to the other tunnel's resolver, and resets for what comes out of it too late.
  const own = (rule: string) =>
    !/dport 51820|mark & 0x00001fff == 0x0000114e .* udp dport 53|ct state related tcp flags & rst == rst/.test(
      rule,
    );
  expect(output(POLICIES["two-tunnels"]).filter(own)).toEqual(output(connected).filter(own));
  expect(output({ ...connected, defaultExit: { to: "blocked" } })).toEqual(output(connected));
});

test("no rule of a blocked gateway accepts a forwarded packet", () => {
  const forward = rulesetOf(POLICIES.blocked).split("chain forward {")[1]?.split("  }\n")[0] ?? "accept";
  expect(forward).not.toContain("accept");
});
