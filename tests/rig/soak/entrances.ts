import { messageOf } from "../../../src/base/errors.ts";
import { Fresh } from "../leaks/fresh.ts";
import { type Entered, type Entrance, playTransition } from "../leaks/transitions.ts";
import { randomFrom } from "../tools/random.ts";
import { type Disturbance, ROOTS } from "./disturbances.ts";

/** A disturbance begins within this time of a transition. */
const ROUND_MS = 1_000;
/** With less, a play has shown nothing. */
const LEAST_ROUNDS = 3;

/** Plays transitions of an entrance in a random order for so long, each beside something that root does to the gateway. */
export async function playEntrance<Home extends Entered>(
  entrance: Entrance<Home>,
  seed: number,
  ms: number,
): Promise<{ fault: string | null; story: string[] }> {
  const random = randomFrom(seed);
  const pick = <T>(choices: readonly T[]) => choices[Math.floor(random() * choices.length)] as T;
  const story: string[] = [];
  const fresh = await Fresh.open(pick(entrance.cards), entrance);
  try {
    const home = await entrance.open(fresh);
    try {
      const end = performance.now() + ms;
      while (performance.now() < end || story.length < LEAST_ROUNDS) {
        const transition = pick(entrance.transitions);
        const beside: Disturbance | null = transition.losesLayer ? null : pick(ROOTS)(pick, random);
        const at = ROUND_MS * random() ** 2;
        story.push(
          `${transition.what}${beside === null ? "" : `; after ${at.toFixed(0)} ms: ${beside.title}`}`,
        );
        await playTransition(fresh, home, transition, async () => {
          await Bun.sleep(at);
          await beside?.run({ lab: fresh.lab, gateway: home.gateway });
        });
      }
    } finally {
      await home.end();
    }
  } catch (error) {
    return { fault: messageOf(error), story };
  } finally {
    await fresh.close();
  }
  return { fault: fresh.total.leaked === 0 ? null : fresh.total.leaks.join("; "), story };
}
