import { Unknown } from "./terms.ts";

// The text that goes to `nft -f -`. What is not listed here is unknown, and the error has the line of the rule.

export interface Ruleset {
  chains: ReadonlyMap<string, Chain>;
  /** Of sets, and the keys and values of maps. */
  elements: ReadonlyMap<string, readonly Element[]>;
}

export interface Chain {
  name: string;
  /** Null if rules lead there. */
  hook: Hook | null;
  rules: readonly Rule[];
}

export interface Hook {
  name: "prerouting" | "input" | "forward" | "output" | "postrouting";
  type: "filter" | "nat";
  priority: number;
  policy: "accept" | "drop";
}

export interface Rule {
  chain: string;
  /** From 1. */
  line: number;
  text: string;
  comment: string;
  statements: readonly Statement[];
  /** The words of each statement. */
  parts: readonly string[];
}

export interface Element {
  /** More than one if it is a concatenation. */
  key: readonly string[];
  /** Of a map. */
  value: readonly string[];
}

export type Statement =
  | { kind: "match"; left: readonly Field[]; mask: readonly string[]; operator: Operator; right: Right }
  | { kind: "vmap"; left: Field; right: Right }
  | { kind: "verdict"; verdict: Verdict }
  | { kind: "mark"; mask: string; bits: string }
  | { kind: "zone"; isOneWay: boolean; value: ZoneValue }
  | { kind: "hop limit"; value: string }
  | { kind: "segments" }
  | { kind: "untracked" };

export type Operator = "==" | "!=" | "any of" | "none of";
/** A named set, or values. */
export type Right = { set: string } | { elements: readonly Element[] };
/** What a match reads, in nft's words. */
export type Field = string;
export type ZoneValue = { zone: string } | { modulus: string; offset: string } | { map: string };
export type Verdict =
  | { kind: "accept" | "drop" | "return" | "reject" }
  | { kind: "jump" | "goto"; chain: string }
  | { kind: "dnat"; family: 4 | 6; address: string; port: Port | null }
  | { kind: "masquerade"; ports: readonly [string, string] | null };
export type Port = { port: string } | { map: string };

const FIELDS = [
  ...["meta nfproto", "meta l4proto", "meta mark", "meta iiftype", "iifname", "oifname"],
  ...["ip saddr", "ip daddr", "ip6 saddr", "ip6 daddr", "ip6 hoplimit", "ether saddr"],
  ...["tcp sport", "tcp dport", "udp sport", "udp dport", "th sport", "th dport", "tcp flags"],
  ...["icmp type", "icmp code", "icmpv6 type", "@th,64,32", "@th,87,1"],
  ...["ct state", "ct status", "ct zone", "ct direction", "ct original zone"],
  ...["ct original ip saddr", "ct original ip daddr", "ct original ip6 saddr", "ct original ip6 daddr"],
  ...["ct original proto-src", "ct original proto-dst"],
  ...["fib daddr type", "fib daddr . mark oif", "fib daddr . mark oifname", "fib saddr . mark . iif oif"],
  ...["fib saddr . oif type"],
  ...["rt ip6 nexthop", "socket wildcard"],
].map((text) => ({ text, words: text.split(" ") }));

const PRIORITIES: Record<string, number> = {
  raw: -300,
  mangle: -150,
  dstnat: -100,
  filter: 0,
  srcnat: 100,
};

export function parseRuleset(text: string): Ruleset {
  const chains = new Map<string, Chain>();
  const elements = new Map<string, Element[]>();
  let block: { kind: string; name: string; hook: Hook | null; rules: Rule[] } | null = null;
  for (const [at, line] of text
    .split("\n")
    .map((each) => each.trim())
    .entries()) {
    if (line === "") continue;
    const [, kind, name = ""] = /^(set|map|chain) (\S+) \{$/.exec(line) ?? [];
    if (kind !== undefined) {
      block = { kind, name, hook: null, rules: [] };
      if (kind !== "chain") elements.set(name, []);
    } else if (line === "}" && block !== null) {
      if (block.kind === "chain") chains.set(block.name, block);
      block = null;
    } else if (block === null) {
      if (line !== "}" && !/^(add |delete )?table inet portcullis( \{)?$/.test(line))
        throw new Unknown(`line ${at + 1}: ${line}`);
    } else if (block.kind === "chain") {
      if (line.startsWith("type ")) block.hook = hookOf(line, at + 1);
      else block.rules.push(ruleOf(block.name, line, at + 1));
    } else if (line.startsWith("elements = ")) {
      elements.set(block.name, elementsIn(new Words(line.slice("elements = ".length), at + 1)));
    } else if (!/^type(of)? /.test(line)) throw new Unknown(`line ${at + 1}: ${line}`);
  }
  return { chains, elements };
}

function hookOf(line: string, at: number): Hook {
  const found =
    /^type (filter|nat) hook (prerouting|input|forward|output|postrouting) priority (-?\w+)( [+-] \d+)?; policy (accept|drop);$/.exec(
      line,
    );
  if (found === null) throw new Unknown(`line ${at}: ${line}`);
  const [, type, name, base = "", offset = "", policy] = found;
  const priority = (PRIORITIES[base] ?? Number(base)) + Number(offset.replaceAll(" ", ""));
  if (Number.isNaN(priority)) throw new Unknown(`line ${at}: priority ${base}`);
  return { name, type, priority, policy } as Hook;
}

export function ruleOf(chain: string, text: string, line: number): Rule {
  const [, rest = "", comment = ""] = /^(.*?)(?: ?comment "([^"]*)")?$/.exec(text) ?? [];
  const words = new Words(rest, line);
  const statements: Statement[] = [];
  const parts: string[] = [];
  while (!words.isAtEnd) {
    const before = words.position;
    statements.push(statementOf(words));
    parts.push(words.since(before));
  }
  return { chain, line, text, comment, statements, parts };
}

function statementOf(words: Words): Statement {
  if (words.skip("notrack")) return { kind: "untracked" };
  if (words.skip("meta mark set meta mark &")) {
    const mask = words.next();
    return { kind: "mark", mask, bits: words.skip("|") ? words.next() : "0" };
  }
  if (words.skip("ct zone set")) return { kind: "zone", isOneWay: false, value: { zone: words.next() } };
  if (words.skip("ct original zone set")) return { kind: "zone", isOneWay: true, value: zoneOf(words) };
  if (words.skip("ip6 hoplimit set")) return { kind: "hop limit", value: words.next() };
  if (words.skip("tcp option maxseg size set rt mtu")) return { kind: "segments" };
  const verdict = verdictOf(words);
  return verdict === null ? matchOf(words) : { kind: "verdict", verdict };
}

function zoneOf(words: Words): ZoneValue {
  if (words.skip("jhash ether saddr mod")) {
    const modulus = words.next();
    words.expect("seed");
    words.next();
    words.expect("offset");
    return { modulus, offset: words.next() };
  }
  if (words.skip("ether saddr map")) return { map: words.next().slice(1) };
  return { zone: words.next() };
}

function verdictOf(words: Words): Verdict | null {
  for (const kind of ["accept", "drop", "return"] as const) if (words.skip(kind)) return { kind };
  for (const kind of ["jump", "goto"] as const) if (words.skip(kind)) return { kind, chain: words.next() };
  if (words.skip("reject")) {
    if (!words.skip("with tcp reset")) words.skip("with icmpx admin-prohibited");
    return { kind: "reject" };
  }
  if (words.skip("masquerade")) {
    if (!words.skip("to")) return { kind: "masquerade", ports: null };
    const [, first = "", last = ""] = /^:(\d+)-(\d+)$/.exec(words.next()) ?? words.fail();
    return { kind: "masquerade", ports: [first, last] };
  }
  for (const [header, family] of [["ip", 4] as const, ["ip6", 6] as const])
    if (words.skip(`dnat ${header} to`)) return dnatOf(family, words);
  return null;
}

function dnatOf(family: 4 | 6, words: Words): Verdict {
  const target = words.next();
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:]+)):(.+)$/.exec(target) ?? [];
  if (port === undefined || (family === 6 && bracketed === undefined))
    return { kind: "dnat", family, address: target, port: null };
  const address = bracketed ?? plain ?? "";
  if (port !== "ct") return { kind: "dnat", family, address, port: { port } };
  words.expect("original zone map");
  return { kind: "dnat", family, address, port: { map: words.next().slice(1) } };
}

function matchOf(words: Words): Statement {
  const left = [fieldOf(words)];
  while (words.skip(".")) left.push(fieldOf(words));
  const [first = ""] = left;
  if (words.skip("vmap")) return { kind: "vmap", left: first, right: rightOf(words) };
  const mask = words.skip("&") ? flagsIn(words) : [];
  if (words.skip("missing"))
    return {
      kind: "match",
      left,
      mask,
      operator: "==",
      right: { elements: [{ key: ["missing"], value: [] }] },
    };
  const operator = operatorOf(first, mask, words);
  return { kind: "match", left, mask, operator, right: rightOf(words) };
}

/** Flags without an operator are met by any of them. */
function operatorOf(field: Field, mask: readonly string[], words: Words): Operator {
  if (words.skip("==")) return "==";
  if (words.skip("!=")) return "!=";
  if (words.skip("!")) return "none of";
  return mask.length === 0 && ["ct state", "ct status"].includes(field) ? "any of" : "==";
}

function fieldOf(words: Words): Field {
  const found = FIELDS.filter((field) => words.startsWith(field.words));
  const [longest] = found.sort((a, b) => b.words.length - a.words.length);
  if (longest === undefined) return words.fail();
  words.skip(longest.text);
  return longest.text;
}

function rightOf(words: Words): Right {
  if (words.isAt("{")) return { elements: elementsIn(words) };
  const [first = ""] = words.startsWith([]) ? [words.next()] : [];
  if (first.startsWith("@")) return { set: first.slice(1) };
  const flags = first.split(",");
  while (words.skip("|")) flags.push(words.next());
  return { elements: [{ key: [flags.map(unquoted).join(" ")], value: [] }] };
}

function flagsIn(words: Words): string[] {
  if (!words.skip("(")) return [words.next()];
  const flags = [words.next()];
  while (!words.skip(")")) {
    words.expect("|");
    flags.push(words.next());
  }
  return flags;
}

function elementsIn(words: Words): Element[] {
  words.expect("{");
  const elements: Element[] = [];
  while (!words.skip("}")) {
    const key = [unquoted(words.next())];
    while (words.skip(".")) key.push(unquoted(words.next()));
    const value: string[] = [];
    if (words.skip(":")) while (!words.isAt(",") && !words.isAt("}")) value.push(words.next());
    elements.push({ key, value });
    words.skip(",");
  }
  return elements;
}

function unquoted(word: string): string {
  return word.replaceAll('"', "");
}

/** What a map leads to. */
export function verdictIn({ value }: Element): Verdict {
  const words = new Words(value.join(" "), 0);
  return verdictOf(words) ?? words.fail();
}

class Words {
  private readonly words: readonly string[];
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly line: number,
  ) {
    const spaced = text
      .replaceAll(/,(?= )/g, " ,")
      .replaceAll(/(?<=\s)\((?=\w)/g, "( ")
      .replaceAll(")", " )");
    this.words = spaced.split(/\s+/).filter((word) => word !== "");
  }

  get isAtEnd(): boolean {
    return this.at === this.words.length;
  }

  get position(): number {
    return this.at;
  }

  since(position: number): string {
    return this.words.slice(position, this.at).join(" ");
  }

  isAt(word: string): boolean {
    return this.words[this.at] === word;
  }

  startsWith(words: readonly string[]): boolean {
    return words.every((word, index) => this.words[this.at + index] === word);
  }

  skip(text: string): boolean {
    const words = text.split(" ");
    if (!this.startsWith(words)) return false;
    this.at += words.length;
    return true;
  }

  expect(text: string): void {
    if (!this.skip(text)) this.fail();
  }

  next(): string {
    const word = this.words[this.at++];
    return word ?? this.fail();
  }

  fail(): never {
    throw new Unknown(`line ${this.line}: ${this.text} (at "${this.words[this.at] ?? "the end"}")`);
  }
}
