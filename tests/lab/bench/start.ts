import type { Lab } from "../lab.ts";
import { now } from "./clock.ts";
import { type Measurement, measurementOf } from "./measure.ts";
import type { Portcullis } from "./portcullis.ts";

/** The gateway's rules in `ip rule`. */
const OWN_PRIORITIES = [100, 101, 102, 103, 104, 105, 106];

/** From the start of the process, on a machine that forwards everything, to the first refusal and to `/health`. */
export async function measureStart(side: Portcullis, rounds: number): Promise<Measurement[]> {
  const killSwitch: number[] = [];
  const health: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await side.gateway.kill("SIGTERM");
    await takeDown(side.lab);
    const seen = Promise.all([
      side.computer.look("refusal"),
      side.computer.callUntil200(side.url("/health")),
    ]);
    const startedAt = now();
    side.gateway.launch();
    const [refusedAt, healthyAt] = await seen;
    killSwitch.push(refusedAt - startedAt);
    health.push(healthyAt - startedAt);
  }
  return [
    measurementOf({ name: "start to the kill switch, at the LAN", unit: "ms", portcullis: killSwitch }),
    measurementOf({ name: "start to the first answer on /health", unit: "ms", portcullis: health }),
  ];
}

/** The kill switch outlives the service: a machine that never had it is made by hand. */
async function takeDown(lab: Lab): Promise<void> {
  const { gateway } = lab.namespaces;
  await lab.exec(gateway, ["nft", "flush", "ruleset"]);
  for (const family of ["-4", "-6"]) {
    const deletions = OWN_PRIORITIES.map((priority) => `rule del priority ${priority}\n`).join("");
    await lab.exec(gateway, ["ip", family, "-force", "-batch", "-"], deletions);
  }
}
