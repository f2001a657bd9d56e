import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { rulesetOf } from "../../src/killswitch/ruleset.ts";
import { long, slow } from "../fast.ts";
import { POLICIES } from "../killswitch/example.ts";
import { type Kind, mutantWith } from "./mutants.ts";
import { ask, failed, proveAll, questionsOf, refuted } from "./proof.ts";
import { parseRoutes, parseRules } from "./routing.ts";
import { parseRuleset } from "./ruleset.ts";
import { Original, type Sort } from "./sorting.ts";
import { machineOf, stateOf, transition } from "./state.ts";
import { Unknown } from "./terms.ts";
import { transitions } from "./transitions.ts";

// docs/proof.md has the questions.

setDefaultTimeout(600_000);

const CONNECTED = stateOf("connected", POLICIES.connected);
const isMissing = Bun.which("z3") === null;

slow.test.skipIf(isMissing)(
  "no packet takes a way that the policy does not name, in any state, with both layers or with either alone",
  async () => {
    const { mesh: _, ...policies } = POLICIES;
    const states = Object.entries(policies).map(([name, policy]) => stateOf(name, policy));
    const found: string[] = [];
    const answers = await proveAll(states, ({ name }, proof) => {
      found.push(...failed(proof.answers).map((each) => `${name}: ${each}`));
    });
    expect(found).toEqual([]);
    expect(answers.length).toBeGreaterThan(3000);
  },
);

long("one state more than those of the suite").test.skipIf(isMissing)(
  "nor does one that comes by a mesh, or is for its devices",
  async () => {
    const found: string[] = [];
    await proveAll([stateOf("mesh", POLICIES.mesh)], (_, proof) => void found.push(...failed(proof.answers)));
    expect(found).toEqual([]);
  },
);

long("as long as all states, which the suite asks").test.skipIf(isMissing)(
  "no packet does so between two states, once the ruleset has been replaced",
  async () => {
    const found: string[] = [];
    await proveAll(transitions(), ({ name }, proof) => {
      found.push(...failed(proof.answers).map((each) => `${name}: ${each}`));
    });
    expect(found).toEqual([]);
  },
);

long("more than the suite can spend on one rule").test.skipIf(isMissing)(
  "two homes that leave by each other are found if nothing refuses it",
  async () => {
    const { homes } = POLICIES;
    const rules = rulesetOf(homes).split("\n");
    const others = rules.filter((rule) => !rule.includes("never leaves by a home"));
    expect(await refuted(stateOf("a mutant", homes, others.join("\n")))).toEqual([
      "(b) IPv4 wgr > wg2, from a home",
      "(b) IPv6 wgr > wg2, from a home",
    ]);
  },
);

slow.test.skipIf(isMissing)("the ruleset of the state before is refuted for the next one", async () => {
  const next = transition(CONNECTED, stateOf("another uplink", { ...POLICIES.connected, uplink: "up1" }));
  expect(await refuted({ ...next, ruleset: CONNECTED.ruleset })).toContain(
    "(c) IPv4 gateway > former up0, first up0",
  );
});

slow.describe.skipIf(isMissing)("a ruleset is refuted", () => {
  test.each<[string, Kind, string, string]>([
    [
      "without the interface of the tunnel",
      "a match less",
      'jump into_wg0 comment "only between the LAN and the tunnels", without oifname',
      "(a) IPv4 lan0 > up0",
    ],
    ["that masquerades nothing", "a rule less", "source_nat: ", "(possible) IPv4 lan0 > wg0"],
    [
      "that lets anyone send to the tunnel's address",
      "a rule less",
      "to_own: ip daddr 10.64.0.2 drop",
      "(d) IPv4 lan0 > a tunnel's address",
    ],
    [
      "that lets errors about translated packets leave",
      "a rule less",
      "check_leaving: ct state related ct status snat,dnat jump own_errors",
      "(c) IPv4 gateway > up0, first lo",
    ],
    [
      "that lets redirects lead devices past the gateway",
      "a rule less",
      "output: icmp type redirect drop",
      "(c) IPv4 gateway > lan0, first lan0, a redirect",
    ],
    [
      "that lets the gateway ask a resolver on the LAN",
      "a rule less",
      'output: oifname "lan0" ip daddr 192.168.7.0/24 th dport { 53, 853 }',
      "(f) IPv4 gateway > lan0, first lan0, a question for a name",
    ],
  ])("%s", async (_, kind, of, question) => {
    expect(await refuted(mutantWith(CONNECTED, kind, of).state)).toContain(question);
  });
});

long("more than the suite can spend on one rule").test.skipIf(isMissing)(
  "with one card, a ruleset is refuted that lets strangers on the cable reach the gateway",
  async () => {
    const state = stateOf("one card", POLICIES["one-armed-connected"]);
    const { state: mistaken } = mutantWith(state, "another interface", 'input: iifname "lo" accept');
    expect(await refuted(mistaken)).toContain("(d) IPv4 eth0 > gateway");
  },
);

slow.test.skipIf(isMissing)("with a rule that leads from one network to another, routing does", async () => {
  const networks = stateOf("networks", POLICIES.networks);
  const wrong = networks.rules[4].replace("to 192.168.7.0/24 iif iot0.30", "to 192.168.7.0/24 iif guest0");
  const rules = { ...networks.rules, 4: wrong };
  const { answers } = await ask({ ...networks, rules }, "routing alone");
  expect(failed(answers)).toContain("routing alone: (h) IPv4 guest0 > lan0");
});

slow.describe.skipIf(isMissing)("a mistake is sorted", () => {
  const original = new Original(stateOf("blocked", POLICIES.blocked));
  test.each<[Sort, Kind, string]>([
    ["refuted", "accepted", 'forward: iifname "lan0" ip saddr 192.168.7.0/24 reject'],
    ["the same", "a rule less", 'forward: iifname "lan0" ip saddr 192.168.7.0/24 reject'],
    ["stricter", "a rule less", 'output: oifname "lan0" ip daddr 192.168.7.0/24 accept'],
    ["refuted", "a rule less", 'output: oifname "lan0" ip daddr 192.168.7.0/24 th dport'],
  ])("as %s: %s, %s", async (sort, kind, of) => {
    expect(await original.sort(mutantWith(original.state, kind, of))).toMatchObject({ sort });
  });
});

slow.test("the model knows every rule of the golden rulesets that the suite does not prove", () => {
  const { bare: _, mesh, ...others } = POLICIES;
  for (const [name, policy] of Object.entries(isMissing ? { mesh, ...others } : { mesh })) {
    const state = stateOf(name, policy);
    expect(questionsOf(state, "the firewall alone").length).toBeGreaterThan(0);
    expect(questionsOf(state, "routing alone").length).toBeGreaterThan(0);
  }
});

describe("what the model does not know is an error with its line", () => {
  test.each(["ct mark 1 accept", "meta skuid 0 accept", "queue", "ip saddr 10.0.0.1 dup to 10.0.0.2"])(
    "the rule %s",
    (rule) => {
      const [before = "", after = ""] = CONNECTED.ruleset.split(/(?<=chain forward \{\n.*\n)/);
      const line = before.split("\n").length;
      expect(() => parseRuleset(`${before}    ${rule}\n${after}`)).toThrow(new RegExp(`^line ${line}: `));
    },
  );

  test("a constant", () => {
    const text = CONNECTED.ruleset.replace("icmp code frag-needed", "icmp code prot-unreachable");
    const state = stateOf("a mutant", POLICIES.connected, text);
    expect(() => questionsOf(state, "the firewall alone")).toThrow(/^line \d+: .*prot-unreachable/);
  });

  test("a routing rule or a route", () => {
    expect(() => parseRules(4, "rule add pref 10 lookup main")).toThrow(Unknown);
    expect(() => parseRoutes(4, "route replace 10.0.0.0/8 nexthop dev wg0 table 20556")).toThrow(Unknown);
    const strange = {
      ...CONNECTED,
      rules: { ...CONNECTED.rules, 4: "rule add priority 10 tos 0x10 lookup main" },
    };
    const { routing } = machineOf(strange, "routing alone");
    expect(() => questionsOf(strange, "routing alone")).toThrow("tos");
    expect(routing).toBeDefined();
  });
});
