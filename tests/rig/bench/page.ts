import type { Rig } from "../dashboard/rig.ts";
import { atMost, type Measurement, measurementOf } from "./measure.ts";
import { measurePageCost } from "./page-cost.ts";
import { measurePageMemory, type Pace } from "./page-memory.ts";
import { measureOpening, sizeOf } from "./page-opening.ts";
import { measureScroll } from "./page-scroll.ts";
import { measureTabs } from "./page-tabs.ts";

export interface PageEffort {
  openings: number;
  /** One a second in an hour makes 3,600. */
  updates: number;
  costs: number;
  costMs: number;
}

/** In kilobytes of 1,000 bytes. */
const SIZE_KB = 150;

/** What the dashboard costs those who look at it, and the gateway. The home is connected and has a little traffic. */
export async function measurePage(rig: Rig, effort: PageEffort, pace: Pace): Promise<Measurement[]> {
  const { status, body } = await rig.gateway.api("POST", "/api/connect", { server: "Sweden" });
  if (status !== 200) throw new Error(`connect: ${JSON.stringify(body)}`);
  const traffic = await rig.lab.traffic(rig.lab.namespaces.client, { kinds: ["udp"], intervalMs: 100 });
  const size = (await sizeOf(rig)) / 1_000;
  const measurements = [
    measurementOf({
      name: "compressed size of the page",
      unit: "kB",
      portcullis: [size],
      aim: atMost(SIZE_KB),
    }),
    ...(await measureOpening(rig, effort.openings)),
    ...(await measureTabs(rig, effort.openings)),
    ...(await measurePageCost(rig, effort.costs, effort.costMs)),
    ...(await measurePageMemory(rig, effort.updates, pace)),
    // What it brings would be in the figures of the others.
    ...(await measureScroll(rig, effort.openings)),
  ];
  await traffic.stop();
  return measurements;
}
