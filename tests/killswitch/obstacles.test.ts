import { expect } from "bun:test";
import { letsThrough, type Obstacle, obstaclesTo, summaryOf } from "../../src/killswitch/obstacles.ts";
import { rulesetOf } from "../../src/killswitch/ruleset.ts";
import { needsNamespaces } from "../fast.ts";
import { POLICIES } from "./example.ts";
import { inNamespace } from "./namespace.ts";

const { test } = needsNamespaces;

const PASSAGE = { lans: ["lan0"], tunnels: ["wg0", "wg1"], base: "wg", uplink: null };

/** A table of another program, whose chain of that name drops by policy. */
function table(name: string, ...rules: readonly string[]): string {
  const chain = (rule: string) => rule.replace(/^(\S+): .*/, "$1");
  const others = [...new Set(rules.filter((rule) => /^\S+: /.test(rule)).map(chain))];
  const lines = (of: string | null) =>
    rules
      .filter((rule) => (of === null ? !/^\S+: /.test(rule) : rule.startsWith(`${of}: `)))
      .map((rule) => rule.replace(/^\S+: /, ""));
  return [
    `table ${name} {`,
    ...others.flatMap((other) => [`chain ${other} {`, ...lines(other), "}"]),
    "chain FORWARD {",
    "type filter hook forward priority filter; policy drop;",
    ...lines(null),
    "}",
    "}",
    "",
  ].join("\n");
}

const PASSES: [passes: boolean, rules: readonly string[]][] = [
  [false, []],
  [false, ['oifname "wg*" counter packets 0 bytes 0 accept']],
  [
    true,
    ['oifname "wg*" counter accept', 'iifname "wg*" oifname "lan0" ct state related,established accept'],
  ],
  [
    true,
    [
      'iifname "lan0" oifname "wg0" accept',
      'iifname "lan0" oifname "wg1" accept',
      "ct state established accept",
    ],
  ],
  [false, ['iifname "lan0" oifname "wg0" accept', "ct state established accept"]],
  [
    true,
    [
      'ct state new iifname { "lan0", "lan1" } accept comment "tcp too"',
      "ct state established,related accept",
    ],
  ],
  [false, ["ct state established,related accept", 'iifname "lan0" tcp dport 22 accept']],
  [false, ["ct state established,related accept", 'iifname "docker0" oifname != "docker0" accept']],
  [false, ["ct state established,related accept", 'iifname "lan0" oifname != "wg*" accept']],
  [true, ["counter accept"]],
  [false, ["ct state established,related accept", "ct status dnat accept"]],
  [true, ["jump USER", 'USER: oifname "wg*" accept', 'USER: iifname "wg*" accept']],
  [false, ['USER: oifname "wg*" accept', 'USER: iifname "wg*" accept']],
  [false, ['oifname "wg*" drop', 'iifname "wg*" accept']],
];

test.each(PASSES)("lets the LAN through, %p: with the rules %j", (passes, rules) =>
  inNamespace(async (host) => {
    const text = table("ip filter", ...rules);
    expect(letsThrough(text, "FORWARD", PASSAGE.lans, PASSAGE.tunnels)).toBe(passes);
    await host.run(["nft", "-f", "-"], { stdin: text });
    expect((await obstaclesTo(host, PASSAGE)).length === 0).toBe(passes);
  }),
);

const REMEDIES: [remedies: readonly string[], direct: readonly string[], chain: string, text: string][] = [
  [
    ["iptables -I FORWARD -o wg+ -j ACCEPT", "iptables -I FORWARD -i wg+ -j ACCEPT"],
    [
      "iptables -I FORWARD -i lan0 -o wan0 -j ACCEPT",
      "iptables -I FORWARD -i wan0 -o lan0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
    ],
    "ip filter FORWARD",
    table("ip filter"),
  ],
  [
    ["ip6tables -I DOCKER-USER -o wg+ -j ACCEPT", "ip6tables -I DOCKER-USER -i wg+ -j ACCEPT"],
    [
      "ip6tables -I DOCKER-USER -i lan0 -o wan0 -j ACCEPT",
      "ip6tables -I DOCKER-USER -i wan0 -o lan0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
    ],
    "ip6 filter FORWARD",
    table("ip6 filter", "DOCKER-USER: return", "jump DOCKER-USER"),
  ],
  [
    ["ufw default allow routed"],
    [],
    "ip filter FORWARD",
    table("ip filter", "ufw-user-forward: return", "jump ufw-user-forward"),
  ],
  [
    ["ufw default allow routed"],
    [],
    "ip6 filter FORWARD",
    table("ip6 filter", "ufw6-user-forward: return", "jump ufw6-user-forward"),
  ],
  [
    [
      `nft 'insert rule inet firewall FORWARD oifname "wg*" accept; insert rule inet firewall FORWARD iifname "wg*" accept'`,
    ],
    [
      `nft 'insert rule inet firewall FORWARD iifname "lan0" oifname "wan0" accept; insert rule inet firewall FORWARD iifname "wan0" oifname "lan0" ct state established,related accept'`,
    ],
    "inet firewall FORWARD",
    table("inet firewall"),
  ],
];
const INTO_TUNNEL = "tunnels";
const TO_UPLINK = "uplink";

test.each(REMEDIES)(
  "%j: is the remedy, and with direct devices %j too, if %s drops",
  (remedies, direct, chain, text) =>
    inNamespace(async (host) => {
      await host.run(["nft", "-f", "-"], { stdin: text });
      expect(await obstaclesTo(host, PASSAGE)).toEqual([{ chain, drops: [INTO_TUNNEL], remedies }]);
      const withDirect = { ...PASSAGE, uplink: "wan0" };
      expect(await obstaclesTo(host, withDirect)).toEqual([
        { chain, drops: [INTO_TUNNEL, TO_UPLINK], remedies: [...remedies, ...direct] },
      ]);
      // The service's `nft` shows what iptables has made as it shows its own.
      if (/^(ufw|ip6?tables .* DOCKER-USER)/.test(remedies[0] ?? "")) return;
      for (const remedy of remedies) await host.run(["sh", "-c", remedy]);
      expect(await obstaclesTo(host, PASSAGE)).toEqual([]);
      expect(await obstaclesTo(host, withDirect)).toEqual([{ chain, drops: [TO_UPLINK], remedies: direct }]);
      for (const remedy of direct) await host.run(["sh", "-c", remedy]);
      expect(await obstaclesTo(host, withDirect)).toEqual([]);
    }),
);

test("the chain of wg-quick that takes the marks of UDP packets is an obstacle, and the remedy ends it", () =>
  inNamespace(async (host) => {
    const chains = ["preraw", "premangle"].map(
      (name) => `chain ${name} { type filter hook prerouting priority -150; }`,
    );
    await host.run(["nft", "-f", "-"], { stdin: `table ip wg-quick-home {\n${chains.join("\n")}\n}\n` });
    expect(await obstaclesTo(host, PASSAGE)).toEqual([
      {
        chain: "ip wg-quick-home premangle",
        drops: ["udp"],
        remedies: ["wg-quick down home"],
      },
    ]);
  }));

test("what several chains drop, and the command that helps against all, is named once", () => {
  const chains = ["ip filter FORWARD", "ip6 filter FORWARD"];
  const obstacles = chains.map(
    (chain): Obstacle => ({
      chain,
      drops: [INTO_TUNNEL, TO_UPLINK],
      remedies: ["ufw default allow routed"],
    }),
  );
  expect(summaryOf(obstacles)).toEqual({
    drops: [INTO_TUNNEL, TO_UPLINK],
    chains: chains.join(", "),
    remedy: "ufw default allow routed",
  });
});

test("rules that accept what enters one tunnel are an obstacle to another", () => {
  const links = PASSAGE.tunnels.map((link) => `iifname "lan0" oifname "${link}" accept`);
  const text = table("ip filter", ...links, "ct state established accept");
  expect(letsThrough(text, "FORWARD", PASSAGE.lans, PASSAGE.tunnels)).toBe(true);
  expect(letsThrough(text, "FORWARD", ["lan0"], ["wg0", "wg1", "wg2", "wg3"])).toBe(false);
});

test.each([
  [false, "reject with icmpx admin-prohibited"],
  [false, "counter drop"],
  [false, 'counter reject comment "the rest"'],
  [true, "ct state invalid drop"],
  [true, "tcp dport 25 reject with tcp reset"],
  [true, "ip daddr 192.0.2.0/24 drop"],
])("a chain that accepts by policy lets the LAN through, %p: with %j as its last rule", (passes, last) =>
  inNamespace(async (host) => {
    const text = table(
      "inet firewalld",
      "ct state established,related accept",
      "ct status dnat accept",
      last,
    );
    await host.run(["nft", "-f", "-"], { stdin: text.replace("policy drop", "policy accept") });
    expect((await obstaclesTo(host, PASSAGE)).length === 0).toBe(passes);
  }),
);

test("the gateway's own table, a bridge's table and another hook are not obstacles", () =>
  inNamespace(async (host) => {
    await host.run(["nft", "-f", "-"], { stdin: rulesetOf(POLICIES.connected) });
    for (const [family, hook] of [
      ["bridge", "forward"],
      ["ip", "input"],
      ["ip", "output"],
    ]) {
      const chain = `chain ${hook} { type filter hook ${hook} priority 0; policy drop; }`;
      await host.run(["nft", "-f", "-"], { stdin: `table ${family} other {\n${chain}\n}\n` });
    }
    expect(await obstaclesTo(host, PASSAGE)).toEqual([]);
  }));
