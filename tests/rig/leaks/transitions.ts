import { messageOf } from "../../../src/base/errors.ts";
import type { Fresh } from "./fresh.ts";

/** Something that happens to an entrance while what comes by it is sent without a pause. */
export interface Transition<Entrance> {
  what: string;
  /** Throws if what it observes is wrong. */
  run(entrance: Entrance): Promise<unknown>;
}

/** Plays one after the other. Nothing may leak, and after each the entrance has to hold as before it. */
export async function playTransitions<Entrance extends { holds(): Promise<void> }>(
  fresh: Fresh,
  entrance: Entrance,
  transitions: readonly Transition<Entrance>[],
): Promise<void> {
  for (const { what, run } of transitions) {
    const { leaks } = await fresh.guarded(async () => {
      try {
        await run(entrance);
        await entrance.holds();
      } catch (error) {
        throw new Error(`${what}: ${messageOf(error)}`);
      }
    });
    if (leaks.length > 0) throw new Error(`${what}: ${leaks.join("; ")}`);
  }
}
