import assert from "node:assert/strict";
import type { Scenario } from "./scenario.ts";

/** Long enough for a hundred packets of each sender. */
const MOMENT_MS = 300;

export const TUNNEL_SCENARIOS: readonly Scenario[] = [
  {
    name: "connect",
    arms: [2, 1],
    from: "blocked",
    run: async (stage) => {
      assert.equal((await stage.connect()).status, 200);
      await Bun.sleep(MOMENT_MS);
    },
  },
  {
    name: "disconnect",
    arms: [2, 1],
    from: "connected",
    run: async (stage) => {
      assert.equal((await stage.disconnect()).status, 200);
      await Bun.sleep(MOMENT_MS);
    },
  },
  {
    name: "the service is killed while connected, and started again",
    arms: [2, 1],
    from: "connected",
    run: async (stage) => {
      await stage.gateway.kill("SIGKILL");
      await Bun.sleep(MOMENT_MS);
      await stage.gateway.start();
    },
  },
];
