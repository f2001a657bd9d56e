import { describe, expect, test } from "bun:test";
import { finalRulesStand } from "../../src/firewall/audit.ts";
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
      text.replace(/( {4}reject with icmpx admin-prohibited\n)/g, "$1    accept\n"),
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
