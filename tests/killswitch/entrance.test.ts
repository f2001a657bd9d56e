import { expect } from "bun:test";
import { closedTo } from "../../src/killswitch/entrance.ts";
import { needsNamespaces } from "../fast.ts";
import { inNamespace } from "./namespace.ts";

const { test } = needsNamespaces;
const ESTABLISHED = "ct state established,related accept";

/** Another program's table whose chain for incoming packets drops by policy. */
function table(name: string, rules: readonly string[], more = ""): string {
  const head = "type filter hook input priority 0; policy drop;";
  return `table ${name} {\n${more}chain INPUT {\n${head}\n${rules.join("\n")}\n}\n}\n`;
}

test.each<[open: boolean, rules: readonly string[]]>([
  [false, []],
  [false, [ESTABLISHED, "tcp dport 22 accept", "icmp type echo-request accept"]],
  [false, ["udp dport 5000 accept", "ip daddr 224.0.0.251 accept", "fib daddr type broadcast accept"]],
  [false, ['iifname "lo" accept', 'iifname "wan0" tcp dport 5000 accept']],
  [false, ["tcp dport != 5000 accept", "tcp sport 5000 accept", "tcp dport 5000 drop"]],
  [true, ["tcp dport 5000 counter accept"]],
  [true, ["tcp dport { 22, 4999-5001 } accept"]],
  [true, ["tcp dport != 22 accept"]],
  [true, ['iifname "lan0" accept']],
  [true, ["ip saddr 192.168.7.0/24 accept"]],
  [true, ["ct state new tcp dport 5000 limit rate 9/second accept"]],
])("the LAN reaches the port, %p: with %j", (open, rules) =>
  inNamespace(async (host) => {
    await host.run(["nft", "-f", "-"], { stdin: table("ip filter", rules) });
    expect((await closedTo(host, ["lan0"], [5000])).length === 0).toBe(open);
  }),
);

test.each([
  ["ip filter", "iptables -I INPUT -i lan0 -p tcp --dport 5000 -j ACCEPT"],
  ["ip6 filter", "ip6tables -I INPUT -i lan0 -p tcp --dport 5000 -j ACCEPT"],
  ["inet firewall", "nft insert rule inet firewall INPUT iifname lan0 tcp dport 5000 accept"],
])("what %s closes, its remedy opens", (name, remedy) =>
  inNamespace(async (host) => {
    await host.run(["nft", "-f", "-"], { stdin: table(name, [ESTABLISHED]) });
    expect(await closedTo(host, ["lan0"], [5000])).toEqual([
      { chain: `${name} INPUT`, port: 5000, remedies: [remedy] },
    ]);
    await host.run(["sh", "-c", remedy]);
    expect(await closedTo(host, ["lan0"], [5000])).toEqual([]);
  }),
);

test("ufw opens a port by its own command", () =>
  inNamespace(async (host) => {
    const more = "chain ufw-user-input {\ntcp dport 22 accept\n}\n";
    await host.run(["nft", "-f", "-"], { stdin: table("ip filter", ["jump ufw-user-input"], more) });
    expect(await closedTo(host, ["lan0", "lan1"], [5000])).toEqual([
      {
        chain: "ip filter INPUT",
        port: 5000,
        remedies: ["lan0", "lan1"].map((lan) => `ufw allow in on ${lan} to any port 5000 proto tcp`),
      },
    ]);
    await host.run([
      "nft",
      "add",
      "rule",
      "ip",
      "filter",
      "ufw-user-input",
      "tcp",
      "dport",
      "5000",
      "accept",
    ]);
    expect(await closedTo(host, ["lan0", "lan1"], [5000])).toEqual([]);
  }));
