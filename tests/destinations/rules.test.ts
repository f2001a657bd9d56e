import { expect, test } from "bun:test";
import { mustParsePrefix as cidr, type HostName, mustParseAddress as ip } from "../../src/base/address.ts";
import type { Mac } from "../../src/base/mac.ts";
import { effectOf } from "../../src/destinations/closing.ts";
import { conflictBetween, inOrder, Matcher, type Rule } from "../../src/destinations/rules.ts";

const TV = "02:00:00:00:00:20" as Mac;
const PHONE = "02:00:00:00:00:21" as Mac;
const host = (name: string) => name as HostName;

function rule(id: string, parts: Partial<Rule>): Rule {
  return { id, names: [], prefixes: [], devices: [], exit: { to: "blocked" }, note: "", ...parts };
}

test("a name means itself and all names below it, but none that only ends alike", () => {
  const matcher = new Matcher([rule("a", { names: [host("example.com")] })]);
  expect(matcher.forName(host("example.com"), null)?.by).toBe(host("example.com"));
  expect(matcher.forName(host("www.cdn.example.com"), TV)?.rule.id).toBe("a");
  expect(matcher.forName(host("badexample.com"), TV)).toBeNull();
  expect(matcher.forName(host("com"), TV)).toBeNull();
});

test("whatever names were looked up before, each has the rule that it has alone", () => {
  const rules = [
    rule("all", { names: [host("example.com"), host("7.example.com")] }),
    rule("tv", { names: [host("3.example.com")], devices: [TV] }),
  ];
  const used = new Matcher(rules);
  for (let number = 0; number < 1_000; number++)
    for (const name of [`${number}.example.com`, `${number % 10}.example.com`, `${number}.example.net`].map(
      host,
    ))
      for (const device of [TV, PHONE, null])
        for (const isBlocked of [false, true])
          expect(used.forName(name, device, isBlocked)).toEqual(expectedOf(name, device, isBlocked));
  function expectedOf(name: HostName, device: Mac | null, isBlocked: boolean) {
    const [all, tv] = rules;
    if (device === TV && name === host("3.example.com")) return { rule: tv as Rule, by: name };
    if (isBlocked || name.endsWith(".net")) return null;
    return { rule: all as Rule, by: name === host("7.example.com") ? name : host("example.com") };
  }
});

test("a longer name holds before a shorter one", () => {
  const matcher = new Matcher([
    rule("short", { names: [host("example.com")] }),
    rule("long", { names: [host("www.example.com")] }),
  ]);
  expect(matcher.forName(host("a.www.example.com"), null)?.rule.id).toBe("long");
  expect(matcher.forName(host("mail.example.com"), null)?.rule.id).toBe("short");
});

test("a rule of a device holds before one of all devices, even if its name or prefix is shorter", () => {
  const matcher = new Matcher([
    rule("all", { names: [host("www.example.com")], prefixes: [cidr("198.51.100.0/24")] }),
    rule("tv", { names: [host("example.com")], prefixes: [cidr("198.51.0.0/16")], devices: [TV] }),
  ]);
  expect(matcher.forName(host("www.example.com"), TV)?.rule.id).toBe("tv");
  expect(matcher.forName(host("www.example.com"), PHONE)?.rule.id).toBe("all");
  expect(matcher.forAddress(ip("198.51.100.9"), TV)).toMatchObject({
    rule: { id: "tv" },
    by: cidr("198.51.0.0/16"),
  });
  expect(matcher.forAddress(ip("198.51.100.9"), null)?.rule.id).toBe("all");
});

test("the longest prefix that contains an address holds, in either family", () => {
  const matcher = new Matcher([
    rule("wide", { prefixes: [cidr("198.51.0.0/16"), cidr("2001:db8::/32")] }),
    rule("narrow", { prefixes: [cidr("198.51.100.0/24"), cidr("2001:db8:1::/48")] }),
  ]);
  expect(matcher.forAddress(ip("198.51.100.1"), null)?.rule.id).toBe("narrow");
  expect(matcher.forAddress(ip("198.51.99.1"), null)?.rule.id).toBe("wide");
  expect(matcher.forAddress(ip("2001:db8:1::1"), null)?.rule.id).toBe("narrow");
  expect(matcher.forAddress(ip("2001:db8:2::1"), null)?.rule.id).toBe("wide");
  expect(matcher.forAddress(ip("203.0.113.1"), null)).toBeNull();
});

test("whatever the order of the rules is, the same one holds", () => {
  const rules = [
    rule("1", { names: [host("example.com")] }),
    rule("2", { names: [host("a.example.com")] }),
    rule("3", { names: [host("com")], devices: [TV] }),
    rule("4", { prefixes: [cidr("192.0.2.0/24")] }),
  ];
  const names = ["example.com", "b.a.example.com", "example.org"].map(host);
  const found = (all: readonly Rule[]) =>
    names.map((name) => [null, TV, PHONE].map((device) => new Matcher(all).forName(name, device)?.rule.id));
  expect(found(rules)).toEqual(found(rules.toReversed()));
});

test("rules conflict if they share a name or a prefix for the same device", () => {
  const all = rule("all", { names: [host("example.com")], prefixes: [cidr("192.0.2.0/24")] });
  const tv = { ...all, id: "tv", devices: [TV] };
  expect(conflictBetween(all, rule("b", { names: [host("example.com")] }))).toBe(host("example.com"));
  expect(conflictBetween(all, rule("b", { prefixes: [cidr("192.0.2.0/24")] }))).toBe(cidr("192.0.2.0/24"));
  expect(conflictBetween(all, rule("b", { prefixes: [cidr("192.0.2.0/25")] }))).toBeNull();
  expect(conflictBetween(all, tv)).toBeNull();
  expect(conflictBetween(tv, { ...tv, devices: [PHONE, TV] })).toBe(host("example.com"));
  expect(conflictBetween(tv, { ...tv, devices: [PHONE] })).toBeNull();
});

test("rules of single devices are shown first, and names below one another together", () => {
  const rules = [
    rule("c", { names: [host("example.org")] }),
    rule("b", { names: [host("www.example.com")] }),
    rule("a", { names: [host("example.com")] }),
    rule("tv", { names: [host("example.org")], devices: [TV] }),
  ];
  expect(inOrder(rules).map(({ id }) => id)).toEqual(["tv", "a", "b", "c"]);
});

const [blocked, direct] = [{ to: "blocked" }, { to: "direct" }] as const;
const [main, oslo] = [
  { to: "tunnel", name: "main" },
  { to: "tunnel", name: "oslo" },
] as const;

test.each([
  [[], [blocked], "tightens"],
  [[], [main], "loosens"],
  [[blocked], [main], "loosens"],
  [[main], [blocked], "tightens"],
  [[main], [oslo], "loosens"],
  [[main], [], "loosens"],
  [[blocked], [], "loosens"],
  // What was direct is then no longer outside the tunnel.
  [[direct], [main], "tightens"],
  [[direct], [blocked], "tightens"],
  [[main], [direct], "loosens"],
  [[main], [main], "neither"],
] as const)(
  "a rule from %j to %j %s what can leave, also beside one that closes",
  (before, after, effect) => {
    const prefixes = [cidr("203.0.113.0/24")];
    const rules = (exits: readonly Rule["exit"][]) => exits.map((exit) => rule("1", { prefixes, exit }));
    expect(effectOf(rules(before), rules(after))).toBe(effect);
    const closing = rule("2", { names: [host("ads.example")], devices: [TV] });
    const both = effect === "neither" ? "tightens" : effect;
    expect(effectOf(rules(before), [...rules(after), closing])).toBe(both);
  },
);
