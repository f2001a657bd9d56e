import { FALSE, no, rebuilt, type Term, TRUE } from "./terms.ts";

// What conditions say outright, put into the rest of them. Most questions end here, and the others get small.

/** The same conditions with fewer unknowns in them; only FALSE if they contradict each other. */
export function simplified(conditions: readonly Term[]): readonly Term[] {
  const facts = new Map<Term, Term>();
  const units = new Set<Term>();
  let rest = conditions.flatMap(partsOf);
  for (;;) {
    for (const each of rest) learn(each, facts, units);
    const done = new Map<Term, Term>();
    const next = rest.flatMap((each) => (units.has(each) ? [] : partsOf(withFacts(each, facts, done))));
    const left = new Set(next);
    if (left.has(FALSE)) return [FALSE];
    left.delete(TRUE);
    if (left.isSubsetOf(new Set(rest))) return [...units, ...left];
    rest = [...left];
  }
}

/** What has to hold at the same time. */
function partsOf(one: Term): Term[] {
  const [inner] = one.args;
  if (one.op === "and") return one.args.flatMap(partsOf);
  if (one.op === "not" && inner?.op === "or") return inner.args.flatMap((each) => partsOf(no(each)));
  return [one];
}

/** A unit says what one unknown is. */
function learn(condition: Term, facts: Map<Term, Term>, units: Set<Term>): void {
  const isNot = condition.op === "not";
  const [first = condition, second] = condition.args;
  const inner = isNot ? first : condition;
  const isEqual = condition.op === "=" && isUnknown(first) && second !== undefined && second.value !== null;
  const [what, is] = isEqual ? [first, second] : [inner, isNot ? FALSE : TRUE];
  if (facts.has(what)) return;
  facts.set(what, is);
  if (isUnknown(what)) units.add(condition);
}

function isUnknown({ args, value }: Term): boolean {
  return args.length === 0 && value === null;
}

/** A condition is not replaced by what it says itself. */
function withFacts(condition: Term, facts: ReadonlyMap<Term, Term>, done: Map<Term, Term>): Term {
  const put = (part: Term): Term => {
    const known = facts.get(part) ?? done.get(part);
    if (known !== undefined) return known;
    const result = rebuilt(part, put);
    done.set(part, result);
    return result;
  };
  const [inner] = condition.args;
  return condition.op === "not" && inner !== undefined ? no(rebuilt(inner, put)) : rebuilt(condition, put);
}
