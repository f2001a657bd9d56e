import { expect, test } from "bun:test";
import { orderFacts, sameTargets } from "../../src/dashboard/order.ts";
import type { Order } from "../../src/tunnel/order.ts";

const ORDER: Order = {
  targets: [
    { provider: "managed", server: "Sweden" },
    { provider: "custom", server: "home", via: "work" },
  ],
  at: 1,
};

test("the order of a tunnel says which target is taken, and when it goes back", () => {
  expect(orderFacts({})).toEqual([]);
  const [[, targets], [, back]] = orderFacts({ order: ORDER }) as [[string, string], [string, string]];
  expect(targets).toMatch(/^Sweden · home.*work.* \(in use\)$/);
  expect(back).toBe("not by itself");
  const backOf = (change: Partial<Order>) => orderFacts({ order: { ...ORDER, ...change } })[1]?.[1];
  expect(backOf({ back_after_minutes: 1 })).toBe("after 1 minute");
  expect(backOf({ back_after_minutes: 5, back_when_quiet: true })).toBe(
    "after 5 minutes, once little is carried",
  );
});

test("the order of a tunnel says when a target is left", () => {
  const leftOf = (change: Partial<Order>) => orderFacts({ order: { ...ORDER, ...change } })[2]?.[1];
  expect([leftOf({}), leftOf({ move_when: ["slow"] }), leftOf({ move_when: ["lossy", "slow"] })]).toEqual([
    "when it is dead",
    "when it is dead or slow",
    "when it is dead, slow or lossy",
  ]);
});

test("the same targets are asked for again, with what was chosen for the way back", () => {
  const { targets } = ORDER;
  expect(sameTargets(ORDER)).toEqual({
    ...{ targets, back_after_minutes: 0, back_when_quiet: false, move_when: [] },
  });
  const back = {
    ...{ back_after_minutes: 5, back_when_quiet: true as const },
    move_when: ["lossy" as const],
  };
  expect(sameTargets({ ...ORDER, ...back })).toEqual({ targets, ...back });
});
