import { simplified } from "./facts.ts";
import { either, FALSE, type Term } from "./terms.ts";

/** Of one question. None of the golden ones takes a second. */
const TIMEOUT_MS = 60_000;

/** The solver has no answer in time. */
export class Undecided extends Error {}

/** What the unknowns of a counterexample are. */
export type Model = (one: Term) => bigint;

const CHECK = "(check-sat-using (then simplify propagate-values smt))";

/** A ruleset with one mistake has most questions in common with the right one. */
const answered = new Map<string, boolean>();

/** What a packet is that goes a way, and what it must not be besides. */
export interface Case {
  base: readonly Term[];
  wrong: Term;
  /** Whether something meets it, as far as one can tell. */
  isLikely?: boolean;
}

/** For each case, whether something meets it. All of one base are asked at once, and singly only if something meets any. */
export async function anyOf(cases: readonly Case[]): Promise<boolean[]> {
  const rare = cases.filter(({ isLikely }) => isLikely !== true);
  const groups = [...Map.groupBy(rare, ({ base }) => keyOf(base)).values()];
  const found = await answersTo(
    groups.map((group) => [...(group[0]?.base ?? []), either(...group.map(({ wrong }) => wrong))]),
  );
  const likely = cases.filter(({ isLikely }) => isLikely === true);
  const open = [...likely, ...groups.flatMap((group, at) => (found[at] ? group : []))];
  const singly = await answersTo(open.map(({ base, wrong }) => [...base, wrong]));
  const met = new Set(open.filter((_, at) => singly[at]));
  return cases.map((each) => met.has(each));
}

/** For each question, whether something meets all of its conditions: Debian's `z3` is asked, which reads SMT-LIB. */
export async function answersTo(questions: readonly (readonly Term[])[]): Promise<boolean[]> {
  const keys = questions.map(keyOf);
  const fresh = keys.flatMap((key, at) =>
    answered.has(key) ? [] : [{ key, conditions: questions[at] ?? [] }],
  );
  const found = await solved(fresh.map(({ conditions }) => conditions));
  for (const [at, { key }] of fresh.entries()) answered.set(key, found[at] === true);
  return keys.map((key) => answered.get(key) === true);
}

function keyOf(conditions: readonly Term[]): string {
  return [...new Set(conditions.map(({ id }) => id))].join(" ");
}

async function solved(questions: readonly (readonly Term[])[]): Promise<boolean[]> {
  const left = questions.map(simplified);
  const open = left.filter((conditions) => !conditions.includes(FALSE));
  const lines = await run(open.map((conditions) => `(push)${asserted(conditions)}${CHECK}(pop)\n`).join(""));
  const answers = new Map(open.map((conditions, at) => [conditions, isMet(lines[at])]));
  return left.map((conditions) => answers.get(conditions) ?? false);
}

/** What meets all conditions; null if nothing does. */
export async function exampleOf(asked: readonly Term[]): Promise<Model | null> {
  const conditions = simplified(asked);
  if (conditions.includes(FALSE)) return null;
  const unknowns = [...unknownsIn(conditions)];
  const names = unknowns.map(nameOf).join(" ");
  const [answer, ...rest] = await run(`${asserted(conditions)}${CHECK}\n(get-value (${names}))\n`);
  if (!isMet(answer)) return null;
  const found = [...rest.join("\n").matchAll(/(?<=\|\s+)(#[xb][0-9a-f]+|true|false)(?=\))/g)];
  const values = new Map(unknowns.map((unknown, at) => [unknown, numberIn(found[at]?.[0] ?? "")]));
  const done = new Map<Term, bigint>();
  const evaluate: Model = (each) => {
    const value = done.get(each) ?? evaluated(each, values, evaluate);
    done.set(each, value);
    return value;
  };
  return evaluate;
}

function isMet(answer: string | undefined): boolean {
  if (answer !== "sat" && answer !== "unsat") throw new Undecided(`z3: ${answer}`);
  return answer === "sat";
}

async function run(script: string): Promise<string[]> {
  const child = Bun.spawn(["z3", "-in", "-smt2"], {
    stdin: new TextEncoder().encode(`(set-option :timeout ${TIMEOUT_MS})\n${script}`),
    stdout: "pipe",
  });
  return (await child.stdout.text()).split("\n");
}

/** What is used more than once has a name. A constant with an equation is read 30 times as fast as `define-fun`. */
function asserted(conditions: readonly Term[]): string {
  const uses = usesIn(conditions);
  const texts = new Map<Term, string>();
  const lines: string[] = [];
  for (const each of uses.keys()) {
    if (each.value !== null) continue;
    const sort = each.width === 0 ? "Bool" : `(_ BitVec ${each.width})`;
    if (each.args.length === 0) {
      lines.push(`(declare-const ${each.op} ${sort})\n`);
      continue;
    }
    const text = textOf(each, (part) => texts.get(part) ?? nameOf(part));
    if ((uses.get(each) ?? 0) < 2) texts.set(each, text);
    else lines.push(`(declare-const t${each.id} ${sort})(assert (= t${each.id} ${text}))\n`);
  }
  return [...lines, ...conditions.map((each) => `(assert ${texts.get(each) ?? nameOf(each)})`)].join("");
}

/** How often each part is used, the parts of each term before itself. */
function usesIn(conditions: readonly Term[]): Map<Term, number> {
  const uses = new Map<Term, number>();
  const waiting = [...conditions];
  for (let next = waiting.at(-1); next !== undefined; next = waiting.at(-1)) {
    const before = waiting.length;
    for (const part of next.args) if (!uses.has(part)) waiting.push(part);
    if (waiting.length > before) continue;
    waiting.pop();
    if (uses.has(next)) continue;
    uses.set(next, 0);
    for (const part of next.args) uses.set(part, (uses.get(part) ?? 0) + 1);
  }
  return uses;
}

function textOf(one: Term, part: (term: Term) => string): string {
  return `(${one.op} ${one.args.map(part).join(" ")})`;
}

function nameOf(one: Term): string {
  if (one.value === null) return one.args.length === 0 ? one.op : `t${one.id}`;
  return one.width === 0 ? one.op : `(_ bv${one.value} ${one.width})`;
}

function unknownsIn(terms: readonly Term[]): Set<Term> {
  const [seen, found] = [new Set<Term>(), new Set<Term>()];
  const waiting = [...terms];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    if (next.args.length === 0 && next.value === null) found.add(next);
    waiting.push(...next.args);
  }
  return found;
}

function numberIn(word: string): bigint {
  if (word === "true" || word === "false") return word === "true" ? 1n : 0n;
  return BigInt(`0${word.slice(1)}`);
}

/** What a term has no unknown value for is 0: nothing depends on it. */
function evaluated(one: Term, values: ReadonlyMap<Term, bigint>, evaluate: Model): bigint {
  if (one.value !== null) return one.value;
  const [first = one, second = one, third = one] = one.args;
  if (one.args.length === 0) return values.get(one) ?? 0n;
  switch (one.op) {
    case "not":
      return 1n - evaluate(first);
    case "and":
      return one.args.every((each) => evaluate(each) === 1n) ? 1n : 0n;
    case "or":
      return one.args.some((each) => evaluate(each) === 1n) ? 1n : 0n;
    case "ite":
      return evaluate(evaluate(first) === 1n ? second : third);
    case "=":
      return evaluate(first) === evaluate(second) ? 1n : 0n;
    case "bvule":
      return evaluate(first) <= evaluate(second) ? 1n : 0n;
    case "bvand":
      return evaluate(first) & evaluate(second);
    case "bvor":
      return evaluate(first) | evaluate(second);
    case "bvxor":
      return evaluate(first) ^ evaluate(second);
  }
  const [, low = "0"] = /extract \d+ (\d+)/.exec(one.op) ?? [];
  return BigInt.asUintN(one.width, evaluate(first) >> BigInt(low));
}
