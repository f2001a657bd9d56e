import { constant, type Place, type Reading, read } from "./field.ts";
import type { Machine } from "./machine.ts";
import type { Packet } from "./packet.ts";
import { type Element, type Field, type Right, type Statement, type Verdict, verdictIn } from "./ruleset.ts";
import { both, either, FALSE, masked, no, same, type Term, Unknown } from "./terms.ts";

// What a rule asks of a packet.

/** A packet in a chain. */
export interface Seen {
  machine: Machine;
  packet: Packet;
  /** Null where it has not been routed. */
  oif: string | null;
}

/** The condition under which the match is met. */
export function isMet({ left, mask, operator, right }: Statement & { kind: "match" }, seen: Seen): Term {
  const readings = left.map((field) => readingOf(field, seen));
  const exists = both(...readings.map((each) => each.exists));
  const [first] = readings;
  const [field = ""] = left;
  if (exists === FALSE || first === undefined) return FALSE;
  const elements = elementsOf(right, seen);
  const isOne = ({ key }: Element) =>
    mask.length > 0 || key.some((word) => word.includes(" "))
      ? isMasked(first, field, mask, key)
      : both(...readings.map((each, at) => each.isOne(key[at] ?? "")));
  switch (operator) {
    case "==":
      return both(exists, either(...elements.map(isOne)));
    case "!=":
      return both(exists, no(either(...elements.map(isOne))));
    case "any of":
      return both(exists, no(same(masked(numberIn(first), flags(field, elements)), 0)));
    case "none of":
      return both(exists, same(masked(numberIn(first), flags(field, elements)), 0));
  }
}

/** What a map leads to, each with its condition. */
export function* verdictsFor(
  { left, right }: Statement & { kind: "vmap" },
  seen: Seen,
): Generator<{ met: Term; verdict: Verdict }, void> {
  const reading = readingOf(left, seen);
  for (const element of elementsOf(right, seen)) {
    const [word = ""] = element.key;
    if (reading.exists !== FALSE)
      yield { met: both(reading.exists, reading.isOne(word)), verdict: verdictIn(element) };
  }
}

export function readingOf(field: Field, { machine, packet, oif }: Seen): Reading {
  const place: Place = {
    ...{ packet, oif, routing: machine.routing },
    // What the gateway itself sends has come by no interface.
    iif: packet.iif === "lo" ? null : packet.iif,
    isEther: (link) => machine.links.get(link)?.isEther ?? false,
    addressesOf: (link) => machine.links.get(link)?.addresses ?? [],
  };
  return read(field, place);
}

/** Of a named set or map. */
export function elementsIn(name: string, { machine }: Seen): readonly Element[] {
  const elements = machine.ruleset?.elements.get(name);
  if (elements === undefined) throw new Unknown(`the set ${name}`);
  return elements;
}

function elementsOf(right: Right, seen: Seen): readonly Element[] {
  return "set" in right ? elementsIn(right.set, seen) : right.elements;
}

function isMasked(reading: Reading, field: Field, mask: readonly string[], key: readonly string[]): Term {
  const value = numberIn(reading);
  const left = mask.length === 0 ? value : masked(value, union(field, mask));
  return same(
    left,
    union(
      field,
      key.flatMap((word) => word.split(" ")),
    ),
  );
}

function numberIn({ value }: Reading): Term {
  if (value === null) throw new Unknown("a mask of what is no number");
  return value;
}

function union(field: Field, words: readonly string[]): bigint {
  return words.reduce((sum, word) => sum | constant(field, word), 0n);
}

function flags(field: Field, elements: readonly Element[]): bigint {
  return union(
    field,
    elements.flatMap(({ key }) => key.flatMap((word) => word.split(" "))),
  );
}
