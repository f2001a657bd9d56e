import { setDefaultTimeout } from "bun:test";
import type { NetworkCards } from "../../../src/sandbox/topology.ts";
import { long } from "../../fast.ts";
import { OMITTED_SCENARIOS } from "../../rig/leaks/scenarios.ts";
import { leaksNothing, openStages, playedWith, TIMEOUT_MS } from "./stages.ts";

const { describe, test } = long("the leaks that the suite leaves out");

setDefaultTimeout(TIMEOUT_MS);

describe.each([2, 1] as const)(
  "with both layers and %i network card(s) nothing leaks:",
  (cards: NetworkCards) => {
    const stages = openStages([cards, "both"]);
    for (const scenario of playedWith(cards, OMITTED_SCENARIOS))
      test(scenario.name, () => leaksNothing(stages.get(cards, "both"), scenario));
  },
);
