import { expect, test } from "bun:test";
import { type Observed, outcomeOf } from "./order.ts";

const change = (there: boolean, start: number, end: number): Observed => ({
  start,
  end,
  kind: "change",
  there,
});
const look = (there: boolean, start: number, end: number): Observed => ({ start, end, kind: "look", there });

test("sequential answers fit an order", () => {
  expect(outcomeOf([])).toBe(false);
  expect(outcomeOf([change(true, 0, 1), look(true, 2, 3)])).toBe(true);
  expect(outcomeOf([look(false, 0, 1), change(true, 2, 3), change(false, 4, 5), look(false, 6, 7)])).toBe(
    false,
  );
});

test("a name added twice, or found after its removal, fits no order", () => {
  expect(outcomeOf([change(true, 0, 9), change(true, 0, 9)])).toBeNull();
  expect(outcomeOf([change(true, 0, 1), change(false, 2, 3), look(true, 4, 5)])).toBeNull();
  expect(outcomeOf([look(true, 0, 1), change(true, 2, 3)])).toBeNull();
  expect(outcomeOf([change(true, 0, 1), look(false, 2, 3)])).toBeNull();
});

test("overlapping answers may have taken effect in either order", () => {
  expect(outcomeOf([look(true, 0, 5), change(true, 1, 6), look(false, 0, 7)])).toBe(true);
  expect(outcomeOf([change(false, 0, 5), change(true, 1, 9)])).toBe(false);
  expect(outcomeOf([change(true, 0, 9), change(true, 0, 9), change(false, 0, 9)])).toBe(true);
  expect(outcomeOf([change(true, 0, 9), change(true, 5, 9), change(false, 0, 4)])).toBe(true);
});
