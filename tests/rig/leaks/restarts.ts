import assert from "node:assert/strict";
import { randomFrom } from "../tools/random.ts";
import type { Scenario, Stage } from "./stage.ts";

/** With two labs 42 moments in all: both play each action seven times, at moments of their own. */
const MOMENTS = 7;

interface Action {
  name: string;
  from: Scenario["from"];
  /** Until when the service has work with it, on a machine that does nothing else. */
  lastsMs: number;
  seed: number;
  begin(stage: Stage): Promise<unknown>;
}

const ACTIONS: readonly Action[] = [
  {
    name: "a connect",
    from: "blocked",
    lastsMs: 200,
    seed: 0x600d,
    begin: (stage) => stage.connect(),
  },
  {
    name: "a switch",
    from: "connected",
    lastsMs: 500,
    seed: 0x5eed,
    begin: (stage) => stage.connect("box-vpn-2"),
  },
  {
    name: "a disconnect",
    from: "connected",
    lastsMs: 80,
    seed: 0xdead,
    begin: (stage) => stage.disconnect(),
  },
];

/** Ways in which the service ends, and starts again. */
export const RESTARTS: readonly Scenario[] = [
  ...(["SIGTERM", "SIGKILL"] as const).flatMap((signal) =>
    (["connected", "blocked"] as const).map(
      (from): Scenario => ({
        name: `the service gets ${signal} while ${from}, and is started again`,
        cards: [2, 1],
        from,
        run: async (stage) => {
          const before = await stage.browse();
          await stage.gateway.kill(signal);
          await stage.observe();
          // A relay ends with the service.
          assert.equal(await stage.browse(), stage.transport === null ? before : null);
          await stage.gateway.start();
          await stage.mended();
          assert.equal(await stage.browse(), before);
        },
      }),
    ),
  ),
  ...ACTIONS.map(
    (action): Scenario => ({
      name: `SIGKILL at ${MOMENTS} moments of ${action.name} (seed 0x${action.seed.toString(16)}), and a start after each`,
      cards: [2, 1],
      from: action.from,
      run: async (stage) => {
        const random = randomFrom(action.seed + stage.cards);
        for (let count = 0; count < MOMENTS; count += 1) {
          await stage.bring(action.from);
          const answer = action.begin(stage).catch(() => null);
          await Bun.sleep(random() * action.lastsMs);
          await stage.gateway.kill("SIGKILL");
          await answer;
          await stage.gateway.start();
          await stage.mended();
        }
      },
    }),
  ),
];
