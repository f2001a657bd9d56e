import { readFileSync } from "node:fs";
import { atMost, type Goal, type Measurement, measurementOf } from "./measure.ts";
import type { Portcullis } from "./portcullis.ts";

export interface Load {
  switches: number;
  requests: number;
}

/** The interface allows five connection requests a second. */
const SWITCH_INTERVAL_MS = 250;
/** Neither path has a limit. */
const HEALTH_EVERY = 5;
/** After work, for the runtime to give memory back, if it does. */
const REST_MS = 3_000;
/** With the pages of the executable, which the kernel can drop: they are about three quarters. */
const IDLE_MIB = 64;
/** The runtime's heap breathes; a leak grows with the work. */
const GROWTH_MIB = 4;

/**
 * Resident memory of the service when fresh, then after half of the work and after all of it: what grows in the
 * second half would grow for ever.
 */
export async function measureMemory(side: Portcullis, load: Load): Promise<Measurement[]> {
  await side.gateway.restart();
  await Bun.sleep(REST_MS);
  const idle = residentMib(side);
  const half = { switches: load.switches / 2, requests: load.requests / 2 };
  await work(side, half);
  const midway = residentMib(side);
  await work(side, half);
  const end = residentMib(side);
  await side.disconnect();
  const line = (name: string, mib: number, aim?: Goal) =>
    measurementOf({ name: `resident memory, ${name}`, unit: "MiB", portcullis: [mib], ...(aim && { aim }) });
  const after = ({ switches, requests }: Load) => `after ${switches} switches and ${requests} requests`;
  return [
    line("idle", idle, atMost(IDLE_MIB)),
    line(after(half), midway),
    line(after(load), end, { text: `+ ${GROWTH_MIB} at most`, met: (mib) => mib <= midway + GROWTH_MIB }),
  ];
}

async function work(side: Portcullis, { switches, requests }: Load): Promise<void> {
  for (let count = 0; count < switches; count += 1) {
    await side.switch(count % 2 === 0 ? 0 : 1);
    await Bun.sleep(SWITCH_INTERVAL_MS);
  }
  for (let count = 0; count < requests; count += 1) {
    const path = count % HEALTH_EVERY === 0 ? "/health" : "/swagger/json";
    const { status, text } = await side.computer.call("GET", side.url(path));
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  }
  await Bun.sleep(REST_MS);
}

export function residentMib({ gateway }: Pick<Portcullis, "gateway">): number {
  const status = readFileSync(`/proc/${gateway.pid}/status`, "utf8");
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]) / 1024;
}
