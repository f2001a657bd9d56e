import { expect, test } from "bun:test";
import fc from "fast-check";
import { Shares } from "../../src/base/shares.ts";

/** How much a client gets if it takes all that it can. */
function greedy(shares: Shares, client: string): number {
  let taken = 0;
  while (shares.take(client)) taken += 1;
  return taken;
}

test("one client gets a tenth, and what it gives back is there again", () => {
  const shares = new Shares(1_000);
  expect(greedy(shares, "a")).toBe(100);
  shares.give("a");
  expect([shares.of("a"), shares.take("a"), shares.take("a")]).toEqual([99, true, false]);
});

test("when forty clients have taken all that they can, there is a share for one more", () => {
  const shares = new Shares(1_000);
  const taken = Array.from({ length: 40 }, (_, at) => greedy(shares, `${at}`));
  expect(Math.min(...taken)).toBeGreaterThan(0);
  expect(shares.take("one more")).toBe(true);
});

test("whatever is taken and given back, no more is out than there is, and all comes back", () => {
  const steps = fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.integer({ min: 1, max: 40 })));
  fc.assert(
    fc.property(steps, (asked) => {
      const shares = new Shares(100);
      const out = asked.filter(([client, amount]) => shares.take(client, amount));
      expect(out.reduce((sum, [, amount]) => sum + amount, 0)).toBeLessThanOrEqual(100);
      for (const [client, amount] of out) shares.give(client, amount);
      expect(greedy(shares, "d")).toBe(10);
    }),
  );
});
