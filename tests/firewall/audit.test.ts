import { describe, expect, test } from "bun:test";
import { chainsEchoed, chainsListed, finalRulesStand, sameChains } from "../../src/firewall/audit.ts";
import type { Policy } from "../../src/firewall/policy.ts";
import { openRulesetOf, rulesetOf } from "../../src/firewall/ruleset.ts";
import { POLICIES } from "./example.ts";
import { inNamespace } from "./namespace.ts";

describe("the kill switch stands", () => {
  test.each(Object.entries(POLICIES))("in what nft lists of a gateway that is %s", (_, policy) =>
    inNamespace(async (host) => {
      await host.run(["nft", "-f", "-"], { stdin: rulesetOf(policy) });
      expect(finalRulesStand(await host.run(["nft", "-s", "list", "table", "inet", "portcullis"]))).toBe(
        true,
      );
    }),
  );
});

describe("what nft echoes of a table that it loads is what it lists", () => {
  const reversed: Policy = { ...POLICIES.connected, uplink: "wan0" };
  test.each(Object.entries({ ...POLICIES, "with other names": reversed }))(
    "for a gateway that is %s",
    (_, policy) =>
      inNamespace(async (host) => {
        const echo = await host.run(["nft", "-e", "-s", "-f", "-"], { stdin: rulesetOf(policy) });
        const listing = await host.run(["nft", "-s", "list", "table", "inet", "portcullis"]);
        expect(chainsEchoed(echo).size).toBeGreaterThan(4);
        expect(sameChains(chainsEchoed(echo), chainsListed(listing))).toBe(true);
      }),
  );

  test.each([
    ["a rule in front", ["insert", "rule", "inet", "portcullis", "output", "accept"]],
    ["one rule less", ["delete", "rule", "inet", "portcullis", "input", "handle", "HANDLE"]],
    ["a chain more", ["add", "chain", "inet", "portcullis", "more"]],
    ["another policy", ["chain", "inet", "portcullis", "output", "{ policy accept; }"]],
    ["a flushed chain", ["flush", "chain", "inet", "portcullis", "forward"]],
  ])("and %s is seen", (_, command) =>
    inNamespace(async (host) => {
      const echo = await host.run(["nft", "-e", "-s", "-f", "-"], { stdin: rulesetOf(POLICIES.connected) });
      const withHandles = await host.run(["nft", "-a", "list", "chain", "inet", "portcullis", "input"]);
      const handle = /lo" accept .*# handle (\d+)/.exec(withHandles)?.[1] ?? "";
      await host.run(["nft", ...command.map((word) => word.replace("HANDLE", handle))]);
      const listing = await host.run(["nft", "-s", "list", "table", "inet", "portcullis"]);
      expect(sameChains(chainsEchoed(echo), chainsListed(listing))).toBe(false);
    }),
  );
});

describe("the kill switch does not stand", () => {
  const text = rulesetOf(POLICIES.connected);

  test.each([
    ["where there is no table", ""],
    ["in the open ruleset", openRulesetOf(POLICIES.connected)],
    ["without its input chain", text.replace("chain input {", "chain inpu {")],
    ["without its forward chain", text.replace("chain forward {", "chain forwar {")],
    ["without its output chain", text.replace("chain output {", "chain outpu {")],
    [
      "where a chain accepts by policy",
      text.replace("output priority filter; policy drop", "output priority filter; policy accept"),
    ],
    [
      "where a chain is not hooked",
      text.replace("    type filter hook forward priority filter; policy drop;\n", ""),
    ],
    ["where input ends in something else", text.replace(/^ {4}drop comment.*\n/m, "")],
    [
      "where a chain ends in an accept",
      text.replace(/( {4}reject with icmpx admin-prohibited .*\n)/g, "$1    accept\n"),
    ],
  ])("%s", (_, listing) => {
    expect(listing).not.toBe(text);
    expect(finalRulesStand(listing)).toBe(false);
  });

  test("where someone flushed a chain", () =>
    inNamespace(async (host) => {
      await host.run(["nft", "-f", "-"], { stdin: text });
      await host.run(["nft", "flush", "chain", "inet", "portcullis", "forward"]);
      expect(finalRulesStand(await host.run(["nft", "-s", "list", "table", "inet", "portcullis"]))).toBe(
        false,
      );
    }));
});
