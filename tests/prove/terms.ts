// Booleans and bit vectors, folded while they are built: in a walk with a known interface and family, most of a ruleset
// becomes a constant.

export interface Term {
  readonly id: number;
  readonly op: string;
  readonly args: readonly Term[];
  /** In bits; 0 for a Boolean. */
  readonly width: number;
  /** Of a constant. */
  readonly value: bigint | null;
  /** Whether it is a constant, or a choice among constants. */
  readonly isKnown: boolean;
}

/** What the model does not know: the proof fails until somebody has said what it means. */
export class Unknown extends Error {}

const known = new Map<number, Term[]>();
/** Of each term that has one so far, by its id. */
const opposites: Term[] = [];
/** The numbers of operators, and of terms without parts. */
const starts = new Map<string, number>();
let count = 0;
const numbers = new Map<string, number>();
let unknowns = { walk: "", rule: "", made: new Map<string, number>() };

export const TRUE = term("true", [], 0, 1n);
export const FALSE = term("false", [], 0, 0n);
areOpposite(TRUE, FALSE);

export function both(...terms: readonly Term[]): Term {
  return joined("and", terms, TRUE, FALSE);
}

export function either(...terms: readonly Term[]): Term {
  return joined("or", terms, FALSE, TRUE);
}

export function no(one: Term): Term {
  return opposites[one.id] ?? areOpposite(one, term("not", [one], 0));
}

function areOpposite(one: Term, other: Term): Term {
  opposites[one.id] = other;
  opposites[other.id] = one;
  return other;
}

export function implies(one: Term, other: Term): Term {
  return either(no(one), other);
}

export function choose(condition: Term, yes: Term, other: Term): Term {
  if (condition === TRUE || yes === other) return yes;
  if (condition === FALSE) return other;
  if (yes.width === 0) return either(both(condition, yes), both(no(condition), other));
  return term("ite", [condition, yes, other], yes.width);
}

export function bool(value: boolean): Term {
  return value ? TRUE : FALSE;
}

export function bits(value: bigint | number, width: number): Term {
  return term("const", [], width, BigInt.asUintN(width, BigInt(value)));
}

/** A new unknown of that name: a number of bits, or a Boolean. */
export function fresh(name: string, width = 0): Term {
  const { walk, rule, made } = unknowns;
  const whole = `${walk}${rule} ${name}`;
  const count = (made.get(whole) ?? 0) + 1;
  made.set(whole, count);
  return term(`|${whole}!${count}|`, [], width);
}

/** A walk through another ruleset has the same unknowns, so that the two can be compared. */
export function unknownsOfWalk<T>(walk: string, make: () => T): T {
  return named({ walk, rule: "", made: new Map() }, make);
}

/** Those of a rule stay the same when another is changed. */
export function unknownsOf<T>(text: string, make: () => T): T {
  const number = numbers.get(text) ?? numbers.size;
  numbers.set(text, number);
  return named({ ...unknowns, rule: ` ${number}` }, make);
}

function named<T>(within: typeof unknowns, make: () => T): T {
  const outer = unknowns;
  unknowns = within;
  try {
    return make();
  } finally {
    unknowns = outer;
  }
}

export function same(one: Term, other: Term | bigint | number): Term {
  const right = typeof other === "object" ? other : bits(other, one.width);
  if (one === right) return TRUE;
  if (one.value !== null && right.value === null) return same(right, one);
  if (right.isKnown) return overLeaves(one, (leaf) => folded("=", leaf, right, 0));
  return folded("=", one, right, 0);
}

/** The same term of other parts. */
export function rebuilt(one: Term, change: (part: Term) => Term): Term {
  if (one.args.length === 0) return one;
  const parts = changed(one.args, change);
  if (parts === one.args) return one;
  const [first = one, second = one, third = one] = parts;
  switch (one.op) {
    case "and":
      return both(...parts);
    case "or":
      return either(...parts);
    case "not":
      return no(first);
    case "ite":
      return choose(first, second, third);
    case "=":
      return same(first, second);
    case "bvule":
      return folded("bvule", first, second, 0);
    case "bvand":
    case "bvor":
    case "bvxor":
      return combined(one.op, first, second);
  }
  const [, high = "", low = ""] = /extract (\d+) (\d+)/.exec(one.op) ?? [];
  return slice(first, Number(high), Number(low));
}

/** The same list if none of them changes. */
function changed(terms: readonly Term[], change: (part: Term) => Term): readonly Term[] {
  let parts: Term[] | null = null;
  for (const [at, each] of terms.entries()) {
    const part = change(each);
    if (parts === null && part !== each) parts = terms.slice(0, at);
    parts?.push(part);
  }
  return parts ?? terms;
}

export function atMost(one: Term, most: bigint | number): Term {
  return folded("bvule", one, bits(most, one.width), 0);
}

export function atLeast(one: Term, least: bigint | number): Term {
  return folded("bvule", bits(least, one.width), one, 0);
}

export function masked(one: Term, mask: bigint | number): Term {
  return combined("bvand", one, bits(mask, one.width));
}

export function combined(op: "bvand" | "bvor" | "bvxor", one: Term, other: Term): Term {
  return overLeaves(one, (leaf) => overLeaves(other, (right) => folded(op, leaf, right, one.width)));
}

/** Whether the first bits are those of the address. */
export function within(one: Term, address: bigint, length: number): Term {
  if (length === 0) return TRUE;
  const rest = BigInt(one.width - length);
  return same(slice(one, one.width - 1, one.width - length), address >> rest);
}

export function slice(one: Term, high: number, low: number): Term {
  const width = high - low + 1;
  if (width === one.width) return one;
  return overLeaves(one, (leaf) =>
    leaf.value === null
      ? term(`(_ extract ${high} ${low})`, [leaf], width)
      : bits(leaf.value >> BigInt(low), width),
  );
}

/** A choice among constants stays one. */
function overLeaves(one: Term, change: (leaf: Term) => Term, done = new Map<Term, Term>()): Term {
  if (one.op !== "ite" || !one.isKnown) return change(one);
  const before = done.get(one);
  if (before !== undefined) return before;
  const [condition = TRUE, yes = one, other = one] = one.args;
  const changed = choose(condition, overLeaves(yes, change, done), overLeaves(other, change, done));
  done.set(one, changed);
  return changed;
}

function folded(op: string, one: Term, other: Term, width: number): Term {
  if (one.value === null || other.value === null) return term(op, [one, other], width);
  const [left, right] = [one.value, other.value];
  switch (op) {
    case "=":
      return bool(left === right);
    case "bvule":
      return bool(left <= right);
    case "bvand":
      return bits(left & right, width);
    case "bvor":
      return bits(left | right, width);
    case "bvxor":
      return bits(left ^ right, width);
  }
  throw new Unknown(op);
}

function joined(op: "and" | "or", terms: readonly Term[], neutral: Term, final: Term): Term {
  const kept = new Set<Term>();
  for (const each of terms) {
    if (each === neutral) continue;
    const opposite = opposites[each.id];
    if (each === final || (opposite !== undefined && kept.has(opposite))) return final;
    kept.add(each);
  }
  const [only = neutral] = kept;
  return kept.size < 2 ? only : term(op, [...kept], 0);
}

/** The same term is the same object. Most time of a proof is spent here, so keys are numbers and nothing is copied. */
function term(op: string, args: readonly Term[], width: number, value: bigint | null = null): Term {
  const hash = hashOf(op, args, width, value);
  const alike = known.get(hash);
  if (alike !== undefined)
    for (const each of alike)
      if (each.op === op && each.width === width && each.value === value && areSame(each.args, args))
        return each;
  const isKnown = value !== null || (op === "ite" && args.slice(1).every((each) => each.isKnown));
  const one = { id: count++, op, args, width, value, isKnown };
  if (alike === undefined) known.set(hash, [one]);
  else alike.push(one);
  return one;
}

function areSame(some: readonly Term[], others: readonly Term[]): boolean {
  if (some.length !== others.length) return false;
  for (let at = 0; at < some.length; at++) if (some[at] !== others[at]) return false;
  return true;
}

function hashOf(op: string, args: readonly Term[], width: number, value: bigint | null): number {
  const start = args.length === 0 ? `${op} ${width} ${value}` : op;
  let hash = starts.get(start) ?? starts.size;
  if (hash === starts.size) starts.set(start, hash);
  for (const { id } of args) {
    hash = Math.imul(hash ^ id, 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash;
}
