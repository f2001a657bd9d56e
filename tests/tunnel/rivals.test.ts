import { expect, test } from "bun:test";
import { Rivals } from "../../src/tunnel/rivals.ts";
import { ONE, placeOf, THREE, TWO } from "./gateway.ts";

const ADVICE = "choose another server, or one with a key of its own";
const rivals = new Rivals((server) => (server.name === "two" ? "work" : null));

test("of a place, the servers are left that no other tunnel uses with the same key", () => {
  expect(rivals.without(placeOf([ONE, TWO, THREE])).servers).toEqual([ONE, THREE]);
  expect(rivals.without(ONE)).toBe(ONE);
});

test("a server that another tunnel uses, and a place without any other, are refused by that tunnel's name", () => {
  const refusal = `server: the tunnel work leads there with the same key; ${ADVICE}`;
  expect(() => rivals.without(TWO)).toThrow(refusal);
  expect(() => rivals.without(placeOf([TWO]))).toThrow(refusal);
  expect(() => rivals.assertNone(TWO)).toThrow(refusal);
  expect(rivals.faultOf(ONE)).toBeNull();
});
