import { expect, test } from "bun:test";
import { KeyConflicts } from "../../src/tunnel/key-conflicts.ts";
import { ONE, placeOf, THREE, TWO } from "./gateway.ts";

const ADVICE = "choose another server, or one with a key of its own";
const conflicts = new KeyConflicts((server) => (server.name === "two" ? "work" : null));

test("of a place, the servers are left that no other tunnel uses with the same key", () => {
  expect(conflicts.without(placeOf([ONE, TWO, THREE])).servers).toEqual([ONE, THREE]);
  expect(conflicts.without(ONE)).toBe(ONE);
});

test("a server that another tunnel uses, and a place without any other, are refused by that tunnel's name", () => {
  const refusal = `server: the tunnel work leads there with the same key; ${ADVICE}`;
  expect(() => conflicts.without(TWO)).toThrow(refusal);
  expect(() => conflicts.without(placeOf([TWO]))).toThrow(refusal);
  expect(() => conflicts.assertNone(TWO)).toThrow(refusal);
  expect(conflicts.faultOf(ONE)).toBeNull();
});
