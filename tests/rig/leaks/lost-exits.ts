import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { VPN } from "../../../src/sandbox/topology.ts";
import { succeeds } from "./connections.ts";
import type { Scenario, Stage } from "./stage.ts";

const LOST = "The exits of devices were lost with the database: until you choose the default exit";

/**
 * A power cut that the database does not survive. The kernel keeps its state, which is the worse case here: each device
 * may be seen at the exit that it had, and nowhere else.
 */
export const LOST_EXITS: readonly Scenario[] = [
  ofLoss("the database is damaged by a power cut", async (stage) => {
    await loseState(stage, "portcullis.db");
    const { error } = await stage.status();
    assert.match(error, /The names and exits of devices are as they were\.$/);
    await stage.sees(VPN.vpn1.v4);
  }),
  ofLoss("the database and the second copy of the exits are damaged by a power cut", async (stage) => {
    await loseState(stage, "portcullis.db", "exits.db");
    await stage.devices.areLed(1, "blocked");
    await stage.devices.areLed(3, "blocked");
    assert((await stage.status()).error.startsWith(LOST));
    await stage.sees(null);
    const { body: checks } = await stage.request("/api/checks", undefined, "GET");
    const found = checks.checks.find(({ id }: { id: string }) => id === "database");
    assert(found.result === "fault" && found.found.includes(LOST), "the checks do not tell");
    const { body: events } = await stage.request("/api/events", undefined, "GET");
    assert(JSON.stringify(events).includes(LOST), "no event tells");
    await stage.gateway.restart();
    await stage.observe();
    await stage.sees(null);
    // A person has chosen, and all have the default exit.
    for (const device of [1, 2, 3]) await stage.devices.areLed(device, "main");
    await succeeds(stage.request("/api/default-exit", { exit: "main" }, "PUT"));
    assert.equal((await stage.status()).error, null);
    await stage.sees(VPN.vpn1.v4);
    await stage.served();
  }),
];

/** Afterwards the gateway has again what it had before. */
function ofLoss(name: string, run: Scenario["run"]): Scenario {
  return {
    name,
    cards: [2, 1],
    from: "connected",
    run: async (stage) => {
      await stage.gateway.keep();
      await stage.served();
      try {
        await run(stage);
        await stage.observe();
      } finally {
        await stage.gateway.reset();
        await stage.devices.areLed(1, "second");
        await stage.devices.areLed(2, "blocked");
        await stage.devices.areLed(3, "direct");
      }
    },
  };
}

async function loseState(stage: Stage, ...names: string[]): Promise<void> {
  const file = (name: string) => join(stage.lab.sandbox.directory, "state", name);
  await stage.gateway.kill("SIGKILL");
  for (const name of names) writeFileSync(file(name), "not a database ".repeat(1_000));
  for (const suffix of ["-wal", "-shm"]) rmSync(file(`portcullis.db${suffix}`), { force: true });
  await stage.gateway.start();
  await stage.observe();
}
