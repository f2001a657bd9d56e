import { parseAddress } from "../base/address.ts";
import type { ElementChange, ElementType } from "../system/host.ts";
import { TABLE } from "./ruleset.ts";

/**
 * The rules of each chain as nft spells them, the type and policy of a hooked chain first; under `set` and its name the
 * type of a set or map and its elements, sorted; under `OF_TABLE` the table's own lines.
 */
export type Chains = ReadonlyMap<string, readonly string[]>;

/** The key of the table's own lines, such as its flags; no chain has an empty name. */
const OF_TABLE = "";
/** Begins the key of a set or map; no chain has a space in its name. */
const OF_SET = "set ";

const [, TABLE_NAME = ""] = TABLE.split(" ");
/** In a text to load: a set or map, and the line with its elements. */
const SETS = /^ {2}(?:set|map) (\S+) \{\n(?: {4}.*\n)* {2}\}\n/gm;
const ELEMENTS = /^ {4}elements = .*\n/gm;

/** The types of sets and maps whose elements are changed without the rest, by the first line of those. */
const ELEMENT_TYPES: Readonly<Record<string, ElementType>> = {
  "type ipv4_addr": "ipv4_addr",
  "type ipv6_addr": "ipv6_addr",
  "type ipv4_addr . inet_service": "ipv4_addr . inet_service",
  "type ipv6_addr . inet_service": "ipv6_addr . inet_service",
  "type ether_addr": "ether_addr",
  "typeof ct original zone": "ct original zone",
  "type ether_addr : verdict": "ether_addr : verdict",
  "type nf_proto": "nf_proto",
  "type inet_service": "inet_service",
  "typeof ether saddr : ct original zone": "ether saddr : ct original zone",
  "typeof ct original zone : th dport": "ct original zone : th dport",
};

/** What each chain must end with, whatever precedes it: the kill switch depends on these. */
export const FINAL_RULES = {
  input: /^drop\b/,
  // An earlier version rejects here, which blocks as well.
  forward: /^(drop|reject)\b/,
  output: /^reject\b/,
} as const;

/**
 * Whether, by a listing of the table, it is not dormant, and each chain is hooked, drops by policy and ends in its
 * final rule.
 */
export function finalRulesStand(listing: string): boolean {
  const chains = chainsListed(listing);
  const names = Object.keys(FINAL_RULES) as (keyof typeof FINAL_RULES)[];
  return !isDormant(chains) && names.every((name) => endsInRefusal(chains, name));
}

/** Whether the table is switched off: its chains are listed as before, but see no packets. */
export function isDormant(chains: Chains): boolean {
  return chains.get(OF_TABLE)?.some((line) => /^flags\b.*\bdormant\b/.test(line)) === true;
}

export function endsInRefusal(chains: Chains, name: keyof typeof FINAL_RULES): boolean {
  const [head, ...rules] = chains.get(name) ?? [];
  return (
    head?.startsWith(`type filter hook ${name} `) === true &&
    head.includes("policy drop;") &&
    FINAL_RULES[name].test(rules.at(-1) ?? "")
  );
}

/** The chains and sets in a listing of the table, or in the text that was loaded. */
export function chainsListed(listing: string): Chains {
  const chains = new Map<string, string[]>();
  const own: string[] = [];
  let lines = own;
  for (const line of listing.split("\n").map((one) => one.trim())) {
    const [, kind, name = ""] = /^(chain|set|map) (\S+) \{$/.exec(line) ?? [];
    if (kind !== undefined) {
      lines = [];
      chains.set(kind === "chain" ? name : keyOf(name), lines);
    } else if (line === "}") lines = own;
    else if (line !== "" && !/^((add|delete) )?table /.test(line)) lines.push(line);
  }
  for (const [key, lines] of chains) if (isSet(key)) chains.set(key, setLines(lines));
  if (own.length > 0) chains.set(OF_TABLE, own);
  return chains;
}

/** nft breaks long lists of elements, and lists them in any order. */
function setLines(lines: readonly string[]): string[] {
  const [, head = "", elements = ""] = /^(.*?)(?: elements = \{ (.*) \})?$/.exec(lines.join(" ")) ?? [];
  return [head, ...elementsIn(elements)];
}

function elementsIn(text: string): string[] {
  return text === "" ? [] : text.split(", ").map(spelled).sort();
}

/** An address of `::/96`, which any name may have, as nft prints it: with dots (inet_ntop(3)). */
const WITH_DOTS = /^::[\d.]+$/;

function spelled(element: string): string {
  const [first = "", ...others] = element.split(" . ");
  const address = WITH_DOTS.test(first) ? (parseAddress(first) ?? first) : first;
  return [address, ...others].join(" . ");
}

/** None if there is no such set. */
export function elementsOf(set: string, chains: Chains): readonly string[] {
  return chains.get(keyOf(set))?.slice(1) ?? [];
}

export function isSet(key: string): boolean {
  return key.startsWith(OF_SET);
}

function keyOf(set: string): string {
  return `${OF_SET}${set}`;
}

function nameOf(key: string): string {
  return key.slice(OF_SET.length);
}

/**
 * The changes that make the sets of one table those of another, in one transaction; null if the tables differ in more,
 * or in elements of another type. Both are texts to load: nft's spelling of the same table differs. They are compared as
 * texts, because to take apart all chains takes a millisecond.
 */
export function elementChanges(
  from: string,
  to: string,
  [one, other] = setsApart(from, to),
): ElementChange[] | null {
  if (withoutElements(from) !== withoutElements(to)) return null;
  const changes = [...changesTo("delete", one, other), ...changesTo("add", other, one)];
  return changes.every((change) => change !== null) ? changes : null;
}

/**
 * The elements that some sets of a table get with the next table, so that they can be added before the rest of it. Null if
 * the former table does not have these sets. Both tables are texts to load.
 */
export function elementsAhead(
  from: string,
  to: string,
  isWanted: (set: string) => boolean,
): ElementChange[] | null {
  const [one, other] = [setsIn(from, isWanted), setsIn(to, isWanted)];
  if (other.size === 0 || ![...other.keys()].every((key) => one.has(key))) return null;
  const changes = changesTo("add", other, one);
  return changes.every((change) => change !== null) ? changes : null;
}

/** The sets and maps in a text to load, or those of some names. */
export function setsIn(ruleset: string, isWanted: (set: string) => boolean = () => true): Chains {
  const wanted = [...blocksIn(ruleset)].filter(([name]) => isWanted(name));
  return chainsListed(wanted.map(([, block]) => block).join(""));
}

/** The sets and maps of each of two texts to load that are not as in the other: to take all apart takes a millisecond. */
export function setsApart(one: string, other: string): [Chains, Chains] {
  const [blocks, others] = [blocksIn(one), blocksIn(other)];
  const apart = [...blocks.keys(), ...others.keys()].filter((name) => blocks.get(name) !== others.get(name));
  const listed = (some: typeof blocks) =>
    chainsListed([...new Set(apart)].map((name) => some.get(name) ?? "").join(""));
  return [listed(blocks), listed(others)];
}

/** The text of each set and map, by name. */
function blocksIn(ruleset: string): Map<string, string> {
  return new Map([...ruleset.matchAll(SETS)].map(([block, name = ""]) => [name, block]));
}

function withoutElements(ruleset: string): string {
  return ruleset.replace(ELEMENTS, "");
}

/** For the elements that only the first table has. */
function changesTo(verb: ElementChange["verb"], one: Chains, other: Chains): (ElementChange | null)[] {
  return [...one].flatMap(([key, [head = "", ...listed]]) => {
    const others = new Set(other.get(key));
    const elements = listed.filter((element) => !others.has(element));
    if (elements.length === 0) return [];
    const type = ELEMENT_TYPES[head];
    return [type === undefined ? null : { verb, table: TABLE_NAME, set: nameOf(key), type, elements }];
  });
}

/** The chains in nft's echo of the table that it has loaded, in the spelling of a listing. */
export function chainsEchoed(echo: string): Chains {
  const chains = new Map<string, string[]>();
  for (const line of echo.split("\n")) {
    const [, name, head] = /^add chain \S+ \S+ (\S+)(?: \{ (.*) \})?$/.exec(line) ?? [];
    if (name !== undefined) chains.set(name, head === undefined ? [] : [head]);
    // nft 1.0.6 sometimes prints the rule's handle before it.
    const rule = /^add rule \S+ \S+ (\S+) (?:handle \d+ )?(.*)$/.exec(line);
    if (rule) chains.get(rule[1] ?? "")?.push(rule[2] ?? "");
    const [, set = "", type] = /^add (?:set|map) \S+ \S+ (\S+) \{ (.*?);? \}/.exec(line) ?? [];
    if (type !== undefined) chains.set(keyOf(set), [type]);
    const element = /^add element \S+ \S+ (\S+) \{ (.*) \}/.exec(line);
    if (element) chains.get(keyOf(element[1] ?? ""))?.push(...elementsIn(element[2] ?? ""));
  }
  for (const [key, [head = "", ...elements]] of chains)
    if (isSet(key)) chains.set(key, [head, ...elements.sort()]);
  return chains;
}

export function sameChains(a: Chains, b: Chains): boolean {
  return (
    a.size === b.size &&
    [...a].every(([name, rules]) =>
      Bun.deepEquals(rules.map(withSetsSorted), b.get(name)?.map(withSetsSorted)),
    )
  );
}

/** Whether both have the same chains with the same number of rules, in any spelling. */
export function sameShape(a: Chains, b: Chains): boolean {
  return a.size === b.size && [...a].every(([name, rules]) => b.get(name)?.length === rules.length);
}

/**
 * Whether both have the same chains, with rules of the same effect in any spelling: the same verdicts, names, sets and
 * addresses. nft spells numbers, and the words for them, in several ways.
 */
export function sameMeaning(a: Chains, b: Chains): boolean {
  return (
    sameShape(a, b) &&
    [...a].every(([name, rules]) => Bun.deepEquals(rules.map(meaningOf), b.get(name)?.map(meaningOf)))
  );
}

const MEANING =
  /"[^"]*"|@\w+(?![\w,])|\b(?:accept|drop|reject|masquerade|goto [^\s,]+|jump [^\s,]+)|[0-9a-f]*(?:[:.][0-9a-f]*){2,}(?:\/\d+)?/g;

/** nft lists the prefix of a single address without its length. */
const OF_ONE = /^(?:([\d.]+)\/32|([\da-f:]+)\/128)$/;

function meaningOf(rule: string): string[] {
  return (rule.match(MEANING) ?? []).map((each) => each.replace(OF_ONE, "$1$2")).sort();
}

/** nft does not keep the order of a set's elements. */
function withSetsSorted(rule: string): string {
  return rule.replace(
    /\{ ([^{}]*) \}/g,
    (_, elements: string) => `{ ${elements.split(", ").sort().join(", ")} }`,
  );
}
