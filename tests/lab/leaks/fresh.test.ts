import { expect, setDefaultTimeout } from "bun:test";
import { long } from "../../fast.ts";
import { ATTACKERS_MEET_NO_DEFENCE } from "../../rig/leaks/attackers.ts";
import { playFresh } from "../../rig/leaks/fresh.ts";
import { FRESH_SCENARIOS } from "../../rig/leaks/scenarios.ts";

const { test } = long("the same leaks on a machine of their own");

/** Each takes 2 to 8 s where nothing else runs, ten times that where much does. */
setDefaultTimeout(300_000);

for (const scenario of [...FRESH_SCENARIOS, ATTACKERS_MEET_NO_DEFENCE]) {
  test(`in labs of their own, with each number of network cards: ${scenario.name}`, async () => {
    const rows = await Promise.all(scenario.cards.map((cards) => playFresh(scenario, cards)));
    for (const row of rows) {
      expect(row).toMatchObject({ leaked: 0, leaks: [], missed: 0 });
      expect(row.failure).toBeNull();
    }
  });
}
