import { readFileSync } from "node:fs";
import { atMost, type Goal, type Measurement, measurementOf } from "./measure.ts";
import type { Portcullis } from "./portcullis.ts";

export interface Load {
  switches: number;
  requests: number;
}

/** What is there after a round of work, and the most anonymous memory in it, in MiB. */
interface Round {
  resident: number;
  anonymous: number;
  highest: number;
}

/** The interface allows five connection requests a second. */
const SWITCH_INTERVAL_MS = 250;
/** Neither path has a limit. */
const HEALTH_EVERY = 5;
/** After work, for the runtime to give memory back, if it does. */
const REST_MS = 3_000;
/** With the pages of the executable, which the kernel can drop: they are about three quarters. */
const START_MIB = 64;
/** What the kernel cannot drop, at the end and at the highest moment. */
const ANONYMOUS_MIB = { end: 30, highest: 45 };
/** The runtime's heap breathes; a leak grows with the work. */
const GROWTH_MIB = 4;
const ROUNDS = 10;
/** Reading it takes the kernel a millisecond. */
const LOOK_EVERY = 50;

/**
 * Memory of the service when fresh, then after half of the work and after all of it: what grows in the second half
 * would grow for ever. Anonymous memory is looked at in each round.
 */
export async function measureMemory(side: Portcullis, load: Load): Promise<Measurement[]> {
  await side.gateway.restart();
  await Bun.sleep(REST_MS);
  const start = { resident: residentMib(side), anonymous: anonymousMib(side) };
  const round = { switches: load.switches / ROUNDS, requests: load.requests / ROUNDS };
  const rounds: Round[] = [];
  while (rounds.length < ROUNDS) {
    const highest = await work(side, round);
    rounds.push({ resident: residentMib(side), anonymous: anonymousMib(side), highest });
  }
  await side.disconnect();
  const [early, late] = [rounds.slice(0, ROUNDS / 2), rounds.slice(ROUNDS / 2)];
  const half = early.at(-1)?.resident ?? Number.NaN;
  const after = (part: number) =>
    `after ${load.switches * part} switches and ${load.requests * part} requests`;
  return [
    line("resident", "after the start", [start.resident], atMost(START_MIB)),
    line("resident", after(0.5), [half]),
    line("resident", after(1), [rounds.at(-1)?.resident ?? Number.NaN], {
      text: `+ ${GROWTH_MIB} at most`,
      met: (mib) => mib <= half + GROWTH_MIB,
    }),
    line("anonymous", "after the start", [start.anonymous]),
    line("anonymous", `rounds 1 to ${ROUNDS / 2}`, anonymousIn(early)),
    line("anonymous", `rounds ${ROUNDS / 2 + 1} to ${ROUNDS}`, anonymousIn(late), atMost(ANONYMOUS_MIB.end)),
    line(
      "anonymous",
      "at the highest moment",
      [Math.max(...rounds.map(({ highest }) => highest))],
      atMost(ANONYMOUS_MIB.highest),
    ),
  ];
}

function line(kind: string, when: string, mib: readonly number[], aim?: Goal): Measurement {
  return measurementOf({
    name: `${kind} memory, ${when}`,
    unit: "MiB",
    portcullis: mib,
    ...(aim && { aim }),
  });
}

function anonymousIn(rounds: readonly Round[]): number[] {
  return rounds.map(({ anonymous }) => anonymous);
}

/** The most anonymous memory that was seen meanwhile, in MiB. */
async function work(side: Portcullis, { switches, requests }: Load): Promise<number> {
  let highest = 0;
  const look = () => {
    highest = Math.max(highest, anonymousMib(side));
  };
  for (let count = 0; count < switches; count += 1) {
    await side.switch(count % 2 === 0 ? 0 : 1);
    look();
    await Bun.sleep(SWITCH_INTERVAL_MS);
  }
  for (let count = 0; count < requests; count += 1) {
    const path = count % HEALTH_EVERY === 0 ? "/health" : "/swagger/json";
    const { status, text } = await side.computer.call("GET", side.url(path));
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    if (count % LOOK_EVERY === 0) look();
  }
  await Bun.sleep(REST_MS);
  return highest;
}

export function residentMib({ gateway }: Pick<Portcullis, "gateway">): number {
  const status = readFileSync(`/proc/${gateway.pid}/status`, "utf8");
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/** What is not a file's: the kernel cannot drop it. */
function anonymousMib({ gateway }: Pick<Portcullis, "gateway">): number {
  const rollup = readFileSync(`/proc/${gateway.pid}/smaps_rollup`, "utf8");
  return Number(/^Anonymous:\s*(\d+) kB$/m.exec(rollup)?.[1]) / 1024;
}
