import { messageOf } from "../../../src/base/errors.ts";
import type { Gateway } from "../tools/lab.ts";
import type { Fresh, FreshScenario } from "./fresh.ts";

/** Something that happens to an entrance while what comes by it is sent without a pause. */
export interface Transition<Entered> {
  what: string;
  /** Throws if what it observes is wrong. */
  run(entered: Entered): Promise<unknown>;
  /** Whether it loses a layer of the kill switch itself: with the other one lost, too, nothing would block. */
  losesLayer?: true;
}

/** A home with devices that come by an entrance and send without a pause. */
export interface Entered {
  readonly gateway: Gateway;
  /** Throws unless each device leaves by its exit, and reaches what it may and nothing else. */
  holds(): Promise<void>;
  end(): Promise<void>;
}

/** A way by which devices come in, and all that may happen to it, in any order and more than once. */
export interface Entrance<Home extends Entered> extends Omit<FreshScenario, "run"> {
  open(fresh: Fresh): Promise<Home>;
  transitions: readonly Transition<Home>[];
  /** What comes after all of them. */
  last?(home: Home): Promise<unknown>;
}

/** The scenario in which each happens once. */
export function scenarioOf<Home extends Entered>(entrance: Entrance<Home>): FreshScenario {
  const { open, transitions, last, ...rest } = entrance;
  return {
    ...rest,
    run: async (fresh) => {
      const home = await open(fresh);
      try {
        for (const transition of transitions) await playTransition(fresh, home, transition);
        await last?.(home);
      } finally {
        await home.end();
      }
    },
  };
}

/** Nothing may leak, and afterwards the entrance has to hold as before. */
export async function playTransition<Home extends Entered>(
  fresh: Fresh,
  home: Home,
  { what, run }: Transition<Home>,
  meanwhile: () => Promise<unknown> = async () => {},
): Promise<void> {
  const { leaks } = await fresh.guarded(async () => {
    try {
      await Promise.all([run(home), meanwhile()]);
      await home.holds();
    } catch (error) {
      throw new Error(`${what}: ${messageOf(error)}`);
    }
  });
  if (leaks.length > 0) throw new Error(`${what}: ${leaks.join("; ")}`);
}
