import { isIpv4, networkOf, parseAddress, parsePrefix, prefixOf } from "../../src/base/address.ts";
import { parseRules } from "./routing.ts";
import { parseRuleset, type Rule, type Statement } from "./ruleset.ts";
import type { State } from "./state.ts";

// Texts with one mistake each: what a proof has to notice.

export const OF_RULESET = [
  ...(["a rule less", "a match less", "a match negated", "a prefix widened", "a set widened"] as const),
  ...(["a set emptied", "accepted", "another mark", "another mask", "another zone"] as const),
  ...(["another interface", "two rules swapped"] as const),
] as const;
export const OF_ROUTING = [
  ...(["a routing rule less", "a selector less", "another routing mark", "another table"] as const),
  "two routing rules swapped",
] as const;

const MARKS = /(?<=0xffffe000 \| )0x\w+/g;
const MASKS = /(?<=meta mark & )0x\w+(?= [=!]=)/g;
const MASK = /(?<=^meta mark & )0x\w+(?= [=!]=)/;
const ZONES = /(?<=ct zone set )\d+/g;
const LINKS = /(?<=[io]ifname ")[^"]+(?=")/g;
const LINK = /(?<=^[io]ifname ")[^"]+(?="$)/;

export type Kind = (typeof OF_RULESET)[number] | (typeof OF_ROUTING)[number];

export interface Mutant {
  kind: Kind;
  /** What was changed, for people. */
  of: string;
  state: State;
}

/** With the rule that was changed as nft reads it; none if the rule goes. */
interface Change {
  kind: (typeof OF_RULESET)[number];
  of: string;
  lines: ReadonlyMap<number, string>;
}

export function mutantsOf(state: State): Mutant[] {
  return [...ofRuleset(state), ...ofRouting(state, 4), ...ofRouting(state, 6)];
}

/** The mutant of a rule with this text in it; throws if there is none. */
export function mutantWith(state: State, kind: Kind, of: string): Mutant {
  const found = mutantsOf(state).find((each) => each.kind === kind && each.of.includes(of));
  if (found === undefined) throw new Error(`no rule has: ${of}`);
  return found;
}

function ofRuleset(state: State): Mutant[] {
  const lines = state.ruleset.split("\n");
  const rules = [...parseRuleset(state.ruleset).chains.values()].flatMap((chain) => chain.rules);
  const [marks, masks, zones, links] = [MARKS, MASKS, ZONES, LINKS].map((pattern) => [
    ...new Set(state.ruleset.match(pattern)),
  ]);
  const changes = [
    ...rules.flatMap((rule, at) => [
      { kind: "a rule less", of: named(rule), lines: new Map([[rule.line, ""]]) } as const,
      ...shorter(rule),
      ...inParts(rule, "a match negated", negated),
      ...inParts(rule, "a prefix widened", widened),
      ...inParts(rule, "accepted", accepted),
      ...inParts(rule, "another mark", (_, part) =>
        replaced(part, /0x00001\w{3}\b(?!.*0x00001)/, marks ?? []),
      ),
      ...inParts(rule, "another mask", (_, part) => replaced(part, MASK, masks ?? [])),
      ...inParts(rule, "another interface", (_, part) => replaced(part, LINK, links ?? [])),
      ...inParts(rule, "another zone", (_, part) =>
        replaced(part, /(?<=^ct (?:zone|zone set) )\d+$/, zones ?? []),
      ),
      ...swapped(rule, rules[at + 1]),
    ]),
    ...ofSets(lines),
  ];
  return changes.map(({ kind, of, lines: changed }) => ({
    ...{ kind, of },
    state: { ...state, ruleset: lines.map((line, at) => changed.get(at + 1) ?? line).join("\n") },
  }));
}

/** Rules that let packets on, with one match less. */
function shorter(rule: Rule): Change[] {
  if (!rule.statements.some(permits)) return [];
  return rule.statements.flatMap((statement, at): Change[] =>
    statement.kind === "match"
      ? [changed("a match less", rule, `without ${rule.parts[at]}`, rule.parts.toSpliced(at, 1))]
      : [],
  );
}

function permits(statement: Statement): boolean {
  return (
    statement.kind === "verdict" &&
    ["accept", "return", "jump", "goto", "dnat", "masquerade"].includes(statement.verdict.kind)
  );
}

/** The rule once for each part that can be changed so. */
function inParts(
  rule: Rule,
  kind: Change["kind"],
  change: (statement: Statement, part: string) => string | null,
): Change[] {
  return rule.statements.flatMap((statement, at) => {
    const part = change(statement, rule.parts[at] ?? "");
    return part === null ? [] : changed(kind, rule, `with ${part}`, rule.parts.with(at, part));
  });
}

function negated(statement: Statement, part: string): string | null {
  if (statement.kind !== "match" || part.endsWith(" missing")) return null;
  if (part.includes(" != ")) return part.replace(" != ", part.includes(" & ") ? " == " : " ");
  if (part.includes(" == ")) return part.replace(" == ", " != ");
  const { left, mask, operator } = statement;
  const fields = [left.join(" . "), ...mask].join(" & ");
  return `${fields} ${operator === "any of" ? "!" : "!="}${part.slice(fields.length)}`;
}

/** By 8 bits or 16, the first that is there. */
function widened({ kind }: Statement, part: string): string | null {
  if (kind !== "match" || part.includes(" . ")) return null;
  const words = part.split(" ");
  const at = words.findIndex((word) => prefixIn(word) !== null);
  const prefix = prefixIn(words[at] ?? "");
  if (prefix === null) return null;
  const step = isIpv4(prefix.split("/")[0] ?? "") ? 8 : 16;
  const length = Math.max(0, Number(prefix.split("/")[1]) - step);
  return words.with(at, networkOf(prefix, length)).join(" ");
}

function prefixIn(word: string) {
  const address = parseAddress(word);
  return address === null ? parsePrefix(word) : prefixOf(address);
}

function accepted(statement: Statement): string | null {
  if (statement.kind !== "verdict") return null;
  return ["drop", "reject", "return"].includes(statement.verdict.kind) ? "accept" : null;
}

/** The next of those that the text uses. */
function replaced(part: string, pattern: RegExp, all: readonly string[]): string | null {
  const [found] = pattern.exec(part) ?? [];
  const other = found === undefined ? undefined : all[(all.indexOf(found) + 1) % all.length];
  return other === undefined || other === found ? null : part.replace(pattern, other);
}

function swapped(rule: Rule, next: Rule | undefined): Change[] {
  if (next === undefined || next.chain !== rule.chain) return [];
  const lines = new Map([
    [rule.line, next.text],
    [next.line, rule.text],
  ]);
  return [{ kind: "two rules swapped", of: named(rule), lines }];
}

/** Of each set, by its type. */
const STRANGERS: Record<string, string> = {
  "type ipv4_addr": "203.0.113.77",
  "type ipv6_addr": "2001:db8:77::77",
  "type ether_addr": "02:00:00:00:00:77",
  "type inet_service": "9",
  "type ipv4_addr . inet_service": "203.0.113.77 . 9",
  "type ipv6_addr . inet_service": "2001:db8:77::77 . 9",
};

function ofSets(lines: readonly string[]): Change[] {
  return lines.flatMap((line, at): Change[] => {
    const [, kind, name] = /^ {2}(set|map) (\S+) \{$/.exec(line) ?? [];
    if (kind === undefined) return [];
    const [type = "", elements = ""] = [lines[at + 1]?.trim(), lines[at + 2]];
    const isFilled = elements.trim().startsWith("elements = ");
    const stranger = STRANGERS[type];
    const more = isFilled
      ? elements.replace("{ ", `{ ${stranger}, `)
      : `    elements = { ${stranger} }\n${elements}`;
    const place = at + 3;
    return [
      ...(isFilled
        ? [{ kind: "a set emptied", of: `${kind} ${name}`, lines: new Map([[place, ""]]) } as const]
        : []),
      ...(stranger === undefined
        ? []
        : [{ kind: "a set widened", of: `${kind} ${name}`, lines: new Map([[place, more]]) } as const]),
    ];
  });
}

function ofRouting(state: State, family: 4 | 6): Mutant[] {
  const lines = state.rules[family].split("\n").filter((line) => line !== "");
  const marks = [...new Set(state.rules[family].match(/(?<=fwmark )0x\w+/g))];
  const tables = [...new Set(state.rules[family].match(/(?<=lookup )\w+/g))];
  const mutant = (kind: Kind, of: string, others: readonly string[]): Mutant => ({
    ...{ kind, of: `IPv${family} ${of}` },
    state: { ...state, rules: { ...state.rules, [family]: others.join("\n") } },
  });
  return lines.flatMap((line, at) => {
    const next = lines[at + 1];
    const change = (kind: Kind, other: string | null) =>
      other === null ? [] : [mutant(kind, `${line}, as ${other}`, lines.with(at, other))];
    return [
      mutant("a routing rule less", line, lines.toSpliced(at, 1)),
      ...selectorsLess(line).flatMap((other) => change("a selector less", other)),
      ...change("another routing mark", replaced(line, /(?<=fwmark )0x\w+/, marks)),
      ...change("another table", replaced(line, /(?<=lookup )\w+/, tables)),
      ...change("two routing rules swapped", exchanged(line, next)),
    ];
  });
}

function selectorsLess(line: string): string[] {
  const [rule] = parseRules(4, line);
  const words = ["to", "fwmark", "iif", "oif", "ipproto", "sport", "dport", "suppress_prefixlength"];
  return words
    .filter((word) => rule?.words.includes(word))
    .map((word) => line.replace(new RegExp(` ${word} \\S+`), ""));
}

/** With the priority of the other rule and one more, so that it comes after that one. */
function exchanged(line: string, next: string | undefined): string | null {
  const priority = /(?<=priority )\d+/;
  const [of] = priority.exec(line) ?? [];
  const [ofNext] = priority.exec(next ?? "") ?? [];
  return of === ofNext || ofNext === undefined ? null : line.replace(priority, `${Number(ofNext) + 1}`);
}

function changed(kind: Change["kind"], rule: Rule, how: string, parts: readonly string[]): Change {
  const line = `    ${parts.join(" ")} comment "${rule.comment}"`;
  return { kind, of: `${named(rule)}, ${how}`, lines: new Map([[rule.line, line]]) };
}

function named({ chain, text }: Rule): string {
  return `${chain}: ${text}`;
}
