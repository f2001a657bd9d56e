import { parseArgs } from "node:util";
import { startRig } from "../dashboard/rig.ts";
import type { Result } from "./compare.ts";
import { measureConnect } from "./connect.ts";
import { Contest } from "./contest.ts";
import { measureDevices } from "./devices.ts";
import { type IdleEffort, IdlePair } from "./idle.ts";
import { machine } from "./machine.ts";
import type { Measurement } from "./measure.ts";
import { measureMemory } from "./memory.ts";
import { measureNames, type NamesEffort } from "./names.ts";
import { measurePacketLimits } from "./packet-limits.ts";
import { measurePackets } from "./packets.ts";
import { measurePage, type PageEffort } from "./page.ts";
import { measurePrograms } from "./programs.ts";
import { progress } from "./progress.ts";
import { measureRemote } from "./remote.ts";
import { measureStart } from "./start.ts";
import { measureSwitch } from "./switch.ts";
import { tableOf } from "./table.ts";
import { measureThroughput } from "./throughput.ts";

/** How often each thing is done. */
interface Effort extends IdleEffort {
  connects: number;
  switches: number;
  streams: number;
  /** From each kind of device, beside a remote phone. */
  roads: number;
  starts: number;
  traces: number;
  idleMs: number;
  moves: number;
  names: NamesEffort;
  /** Of each gateway, in each case. */
  packetTurns: number;
  load: { switches: number; requests: number };
  page: PageEffort;
}

const FULL: Effort = {
  ...{
    connects: 11,
    switches: 5,
    streams: 20,
    roads: 11,
    starts: 7,
    traces: 3,
    idleMs: 30_000,
    restMs: 360_000,
    useMs: 120_000,
  },
  ...{ moves: 21, packetTurns: 31 },
  names: { questions: 10_000, firstUses: 41 },
  load: { switches: 100, requests: 10_000 },
  page: { openings: 7, updates: 3_600, costs: 2, costMs: 20_000 },
};
const QUICK: Effort = {
  ...{ connects: 3, switches: 1, streams: 4, roads: 5, starts: 3, traces: 1 },
  ...{ idleMs: 10_000, restMs: 60_000, useMs: 30_000 },
  ...{ moves: 5, packetTurns: 15 },
  names: { questions: 2_000, firstUses: 9 },
  load: { switches: 10, requests: 500 },
  page: { openings: 3, updates: 1_200, costs: 1, costMs: 10_000 },
};
/** One way: half of the round trip that the issue of slow links is shown with. */
const DELAY_MS = 10;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "boolean" },
    quick: { type: "boolean" },
    hour: { type: "boolean" },
    only: { type: "string", multiple: true },
    program: { type: "string" },
  },
});
const only = [...(values.only ?? []), ...positionals];
const effort = values.quick ? QUICK : FULL;
const program = values.program === undefined ? {} : { program: [values.program] };
const pace = values.hour ? "real time" : "fed faster";
const measurements: Measurement[] = [];
const failed: string[] = [];
const before = machine();

await step("packets", async () => [
  ...(await measurePackets(effort.packetTurns)),
  ...(await measurePacketLimits(effort.packetTurns)),
]);
await withHome(
  ["connect", "switch", "throughput", "start", "devices", "memory", "remote"],
  () => Contest.open(program),
  async (contest) => {
    for (const delayMs of [0, DELAY_MS]) {
      const rttMs = 2 * delayMs;
      await contest.delay(delayMs);
      await step("connect", () => measureConnect(contest, rttMs, effort.connects));
      await step("switch", () => measureSwitch(contest, rttMs, effort.switches));
    }
    await contest.delay(0);
    await step("throughput", () => measureThroughput(contest, effort.streams));
    await step("start", () => measureStart(contest.portcullis, effort.starts));
    await step("devices", () => measureDevices(contest.portcullis, effort.moves));
    await step("memory", () => measureMemory(contest.portcullis, effort.load));
    // What it leaves, remote devices and a port that is open, would be in the figures of the others.
    await step("remote", () => measureRemote(contest, effort.roads));
  },
);
await withHome(
  ["names"],
  () => Contest.open(program),
  async (contest) => {
    await step("names", () => measureNames(contest, effort.names));
  },
);
await withHome(
  ["programs"],
  () => Contest.open({ ...program, traced: true }),
  async (contest) => {
    await step("programs", () => measurePrograms(contest, effort.traces, effort.idleMs));
  },
);
await withHome(
  ["idle"],
  () => IdlePair.open(program),
  async (pair) => {
    await step("idle", () => pair.measure(effort));
  },
);
await withHome(
  ["page"],
  () => startRig(program),
  (rig) => step("page", () => measurePage(rig, effort.page, pace)),
);
const result: Result = { machine: { before, after: machine() }, effort, measurements };
process.stdout.write(values.json ? `${JSON.stringify(result, null, 2)}\n` : tableOf(measurements));
if (failed.length > 0) process.stderr.write(`Not measured: ${failed.join(", ")}\n`);
process.exit(failed.length > 0 ? 1 : 0);

function isWanted(name: string): boolean {
  return only.length === 0 || only.includes(name);
}

async function step(name: string, measure: () => Promise<Measurement[]>): Promise<void> {
  if (!isWanted(name)) return;
  progress(name);
  // The figures of an hour are not lost for those of one part.
  await measure().then(
    (found) => measurements.push(...found),
    (error) => {
      failed.push(name);
      process.stderr.write(`${error.stack}\n`);
    },
  );
}

/** For any of these steps. Whatever happens, nothing of what was opened is left. */
async function withHome<Home extends { close(): Promise<void> }>(
  steps: readonly string[],
  open: () => Promise<Home>,
  work: (home: Home) => Promise<void>,
): Promise<void> {
  if (!steps.some(isWanted)) return;
  const home = await open();
  const stop = () => void home.close().then(() => process.exit(130));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, stop);
  try {
    await work(home);
  } finally {
    await home.close();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, stop);
  }
}
