import { expect, setDefaultTimeout } from "bun:test";
import fc from "fast-check";
import { SEED as CHANCE } from "../chance.ts";
import { long, runs, slow } from "../fast.ts";
import { type Step, steps } from "./steps.ts";
import { World } from "./world.ts";

const SEEDS = Number(process.env.PORTCULLIS_WORLD_SEEDS ?? runs(200));
/** `scripts/worlds` plays more. */
const LONG_SEEDS = 1_000;
/** How long a shorter story is looked for. */
const SHRINK_MS = Number(process.env.PORTCULLIS_WORLD_SHRINK_MS ?? 60_000);
const TIMEOUT_MS = 3_600_000;
setDefaultTimeout(TIMEOUT_MS);
/** `<seed>` of a failure, or `<seed>:<path>` for the very run that failed. */
const [SEED = "1", ...PATH] = (process.env.PORTCULLIS_WORLD_SEED ?? "1").split(":");

const CLAIM =
  "whatever comes between two effects, nothing opens before it is saved, and at rest kernel, database and interface agree";

slow.test(CLAIM, () => play(SEEDS, Number(SEED), PATH.join(":")), TIMEOUT_MS);

long("A thousand seeds take some minutes.").test(`${CLAIM}, with another seed each time`, () =>
  play(LONG_SEEDS, CHANCE),
);

slow.test("a seed is one interleaving, each time", async () => {
  const [once, again] = [await storiesOf(7), await storiesOf(7)];
  expect(once.join("\n")).toContain("kill -9");
  expect(once).toEqual(again);
});

/** Throws with the shortest story found that goes wrong, and the seed and path that tell it again. */
async function play(numRuns: number, seed: number, path = ""): Promise<void> {
  const days = fc.asyncProperty(fc.scheduler(), steps, async (turns, all) => void (await dayOf(turns, all)));
  const known = path === "" ? {} : { path };
  const first = await fc.check(days, { numRuns, seed, ...known, endOnFailure: true });
  if (!first.failed) return;
  const found = { seed, path: first.counterexamplePath ?? "" };
  const shorter =
    SHRINK_MS > 0 ? await fc.check(days, { ...found, interruptAfterTimeLimit: SHRINK_MS }) : null;
  const { counterexamplePath, errorInstance } = shorter?.failed ? shorter : first;
  throw new Error(`PORTCULLIS_WORLD_SEED=${seed}:${counterexamplePath}\n${errorInstance}`);
}

async function storiesOf(seed: number): Promise<string[]> {
  const stories: string[] = [];
  const days = fc.asyncProperty(fc.scheduler(), steps, async (turns, all) => {
    stories.push((await dayOf(turns, all)).join("\n"));
  });
  await fc.assert(days, { seed, numRuns: 20 });
  return stories;
}

/** Returns what happened. */
async function dayOf(turns: fc.Scheduler, all: readonly Step[]): Promise<readonly string[]> {
  const world = new World(turns);
  try {
    await world.start();
    for (const { happens, effects } of all) {
      await happens(world);
      await world.go(effects);
    }
    await world.rest();
    return world.story;
  } finally {
    world.end();
  }
}
