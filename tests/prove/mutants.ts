import { parseRuleset, type Rule, type Statement } from "./ruleset.ts";

// Rules with one mistake each: what a proof has to notice.

export interface Mutant {
  kind: "a rule less" | "a match less" | "two rules swapped" | "a set emptied";
  /** What was changed, for people. */
  of: string;
  text: string;
}

export function mutantsOf(text: string): Mutant[] {
  const rules = [...parseRuleset(text).chains.values()].flatMap((chain) => chain.rules);
  return [
    ...rules.map(
      (rule): Mutant => ({ kind: "a rule less", of: named(rule), text: withLine(text, rule, "") }),
    ),
    ...rules.flatMap((rule) => widened(text, rule)),
    ...rules.flatMap((rule, at) => swapped(text, rule, rules[at + 1])),
    ...emptied(text),
  ];
}

/** The mutant of a rule with this text in it; throws if there is none. */
export function mutantWith(text: string, kind: Mutant["kind"], of: string): Mutant {
  const found = mutantsOf(text).find((each) => each.kind === kind && each.of.includes(of));
  if (found === undefined) throw new Error(`no rule has: ${of}`);
  return found;
}

/** Rules that let packets on, with one match less. */
function widened(text: string, rule: Rule): Mutant[] {
  if (!rule.statements.some(permits)) return [];
  return rule.statements.flatMap((statement, at): Mutant[] => {
    if (statement.kind !== "match") return [];
    const rest = rule.parts.filter((_, other) => other !== at).join(" ");
    const line = `    ${rest} comment "${rule.comment}"`;
    return [
      {
        kind: "a match less",
        of: `${named(rule)}, without ${rule.parts[at]}`,
        text: withLine(text, rule, line),
      },
    ];
  });
}

function permits(statement: Statement): boolean {
  return (
    statement.kind === "verdict" &&
    ["accept", "return", "jump", "goto", "dnat", "masquerade"].includes(statement.verdict.kind)
  );
}

function swapped(text: string, rule: Rule, next: Rule | undefined): Mutant[] {
  if (next === undefined || next.chain !== rule.chain || next.line !== rule.line + 1) return [];
  const exchanged = withLine(withLine(text, rule, `    ${next.text}`), next, `    ${rule.text}`);
  return [{ kind: "two rules swapped", of: named(rule), text: exchanged }];
}

function emptied(text: string): Mutant[] {
  return text.split("\n").flatMap((line, at): Mutant[] => {
    if (!line.startsWith("    elements = ")) return [];
    const name =
      text
        .split("\n")
        .slice(0, at)
        .findLast((each) => /^ {2}(set|map) /.test(each)) ?? "";
    return [{ kind: "a set emptied", of: name.trim().replace(" {", ""), text: withLineAt(text, at + 1, "") }];
  });
}

function named({ chain, text }: Rule): string {
  return `${chain}: ${text}`;
}

function withLine(text: string, { line }: Rule, other: string): string {
  return withLineAt(text, line, other);
}

function withLineAt(text: string, line: number, other: string): string {
  return text
    .split("\n")
    .map((each, at) => (at + 1 === line ? other : each))
    .join("\n");
}
