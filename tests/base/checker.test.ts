import { expect, spyOn, test } from "bun:test";
import { Type } from "typebox";
import { checkerOf } from "../../src/base/checker.ts";

const Server = Type.Object(
  { name: Type.String({ minLength: 1 }), ports: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 })) },
  { additionalProperties: false },
);

/** More checks than those after which the schema is compiled. */
const MANY = 250;

test("says the same before and after the schema is compiled", () => {
  const checker = checkerOf(Server);
  for (let number = 0; number < MANY; number += 1) {
    expect(checker.Check({ name: "a", ports: [53] })).toBe(true);
    expect(checker.Check({ name: "", ports: [53] })).toBe(false);
    expect(checker.Check({ name: "a", ports: [0] })).toBe(false);
    expect(checker.Check({ name: "a", ports: [], more: true })).toBe(false);
    expect(checker.Errors({ name: "a", ports: [0] })).toMatchObject([{ instancePath: "/ports/0" }]);
    expect(checker.Errors({ name: "a", ports: [53] })).toEqual([]);
  }
});

test("finds the fault in a large value, however deep it is", () => {
  const ports = Array.from({ length: 20_000 }, () => 53);
  const list = checkerOf(Type.Array(Server));
  expect(list.Check([{ name: "a", ports }])).toBe(true);
  expect(list.Check([{ name: "a", ports: [...ports, 0] }])).toBe(false);
  expect(list.Errors([{ name: "a", ports: [...ports, 0] }])).toMatchObject([
    { instancePath: "/0/ports/20000" },
  ]);
});

test("reads only what is JSON and matches", () => {
  const checker = checkerOf(Server);
  expect(checker.read('{ "name": "a", "ports": [] }')).toEqual({ name: "a", ports: [] });
  expect(checker.read('{ "name": 1, "ports": [] }')).toBeNull();
  expect(checker.read('{ "name": "a"')).toBeNull();
  expect(checker.read(null)).toBeNull();
});

test("how large a value is does not decide how long it takes to find that out", () => {
  const { Check } = checkerOf(Type.Array(Type.Integer(), { maxItems: 10 }));
  const large = Array(1_000_000).fill("x");
  Check(large);
  const values = spyOn(Object, "values");
  try {
    expect(Check(large)).toBe(false);
    expect(values).not.toHaveBeenCalled();
  } finally {
    values.mockRestore();
  }
});
