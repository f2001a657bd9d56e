import { afterAll, beforeAll, expect } from "bun:test";
import type { NetworkCards } from "../../../src/sandbox/topology.ts";
import type { Layer } from "../../rig/leaks/layer.ts";
import { type Scenario, Stage } from "../../rig/leaks/stage.ts";

/** Of the stages that play at the same time, each plays one scenario after the other, and the last one waits for all. */
export const TIMEOUT_MS = 600_000;
/** What takes long and is no different with one card. */
const LONG = /a dead endpoint|while switching/;

/** `scripts/leaks` sends more often; what each packet costs is most of what a stage does. */
const OFTEN_MS = 40;

/** Opens them at the same time, before the tests. */
export function openStages(...parts: readonly [cards: NetworkCards, layer: Layer][]) {
  const open = new Map<string, Stage>();
  beforeAll(async () => {
    const stages = await Promise.all(parts.map(([cards, layer]) => Stage.open(cards, layer, null, OFTEN_MS)));
    for (const [index, stage] of stages.entries()) open.set(String(parts[index]), stage);
  });
  afterAll(async () => {
    await Promise.all([...open.values()].map((stage) => stage.close()));
  });
  return {
    get: (cards: NetworkCards, layer: Layer): Stage => {
      const stage = open.get(String([cards, layer]));
      if (stage === undefined) throw new Error(`no stage with ${cards} card(s) and ${layer}`);
      return stage;
    },
  };
}

/** With two cards and with one in turns; `scripts/leaks` plays each scenario with both. */
export function playedWith(cards: NetworkCards, scenarios: readonly Scenario[]): Scenario[] {
  return scenarios.filter(
    (each, number) => cards === (each.cards[LONG.test(each.name) ? 0 : number % each.cards.length] ?? 2),
  );
}

export async function leaksNothing(stage: Stage, scenario: Scenario): Promise<void> {
  const row = await stage.play(scenario);
  // Apart, because a failure that is none of these may be one of a busy machine, and is played again.
  expect(row).toMatchObject({ leaked: 0, leaks: [], missed: 0 });
  expect(row.failure).toBeNull();
  expect(row.sent).toBeGreaterThan(20);
}
