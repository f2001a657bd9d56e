import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SCENARIOS } from "./scenarios.ts";
import { Stage } from "./stage.ts";

/** Slow scenarios take 10 s where nothing else runs. */
const SCENARIO_TIMEOUT_MS = 120_000;

describe.each([2, 1] as const)("with %i network card(s), under constant traffic, nothing leaks", (arms) => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.open(arms);
  }, 60_000);
  afterAll(() => stage.close(), 60_000);

  for (const scenario of SCENARIOS.filter((one) => one.arms.includes(arms))) {
    test(
      scenario.name,
      async () => {
        const row = await stage.play(scenario);
        expect(row).toMatchObject({ leaked: 0, leaks: [], missed: 0, failure: null });
        expect(row.sent).toBeGreaterThan(20);
      },
      SCENARIO_TIMEOUT_MS,
    );
  }
});
