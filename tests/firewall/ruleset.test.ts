import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { finalRulesStand } from "../../src/firewall/audit.ts";
import type { Policy } from "../../src/firewall/policy.ts";
import { openRulesetOf, rulesetOf } from "../../src/firewall/ruleset.ts";
import { POLICIES } from "./example.ts";
import { inNamespace } from "./namespace.ts";

const TEXTS: Record<string, string> = {
  ...Object.fromEntries(Object.entries(POLICIES).map(([name, policy]) => [name, rulesetOf(policy)])),
  "open-connected": openRulesetOf(POLICIES.connected),
};

describe.each(Object.entries(TEXTS))("the ruleset of a gateway that is %s", (name, text) => {
  test("is, to the letter, the one in its file", async () => {
    expect(text).toBe(await Bun.file(`${import.meta.dir}/${name}.nft`).text());
  });

  test("is understood by nft", async () => {
    await inNamespace((host) => host.run(["nft", "-c", "-f", "-"], { stdin: text }));
  });
});

test("every rule says what it is for", () => {
  for (const text of Object.values(TEXTS)) {
    const rules = text.split("\n").filter((line) => line.startsWith("    ") && !line.includes("policy "));
    expect(rules.filter((rule) => !/comment "[^"]+"$/.test(rule))).toEqual([]);
  }
});

test("with the kill switch down and no tunnel there is no table", () => {
  expect(openRulesetOf(POLICIES.blocked)).toBe("add table inet portcullis\ndelete table inet portcullis\n");
});

test("loading one ruleset over another leaves nothing of the first", () =>
  inNamespace(async (host) => {
    const load = (policy: Policy) => host.run(["nft", "-f", "-"], { stdin: rulesetOf(policy) });
    const list = () => host.run(["nft", "-s", "list", "ruleset"]);
    await load(POLICIES.blocked);
    const before = await list();
    await load(POLICIES.switching);
    expect(await list()).not.toBe(before);
    await load(POLICIES.blocked);
    expect(await list()).toBe(before);
  }));

test("whatever the policy, the final rules of the kill switch stand", () => {
  const subset = fc.subarray([...POLICIES.switching.dialing]);
  const policy = fc.record({
    lans: fc.subarray([...POLICIES.blocked.lans]),
    uplink: fc.constantFrom("up0", null),
    dialing: subset,
    carrying: subset,
    lookup: fc.constantFrom(POLICIES.lookup.lookup, null),
    errand: fc.constantFrom(POLICIES.errand.errand, null),
  });
  fc.assert(fc.property(policy, (each) => finalRulesStand(rulesetOf(each))));
});

test("no rule of a blocked gateway accepts a forwarded packet", () => {
  const forward = rulesetOf(POLICIES.blocked).split("chain forward {")[1]?.split("  }\n")[0] ?? "accept";
  expect(forward).not.toContain("accept");
});
