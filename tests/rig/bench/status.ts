import { readFileSync } from "node:fs";
import { join } from "node:path";
import { now } from "./clock.ts";
import { Computer } from "./computer.ts";
import { atMost, type Measurement, measurementOf, percentile } from "./measure.ts";
import type { Portcullis } from "./portcullis.ts";
import { executionsIn, traceOf } from "./trace.ts";

const PATHS = ["/api/status", "/health"];
const PER_SECOND = 500;
const SEEN_WITHIN_MS = 20;
/** What a connect sets in motion is over by then; the last are checks, after 15 s. */
const SETTLED_MS = 20_000;

/** How long an answer takes while many ask and nothing changes. */
export async function measureStatus(side: Portcullis, count: number): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  await whileConnected(side, async (computer) => {
    for (const path of PATHS) {
      const times = await computer.ask({ port: side.gateway.port, path, perSecond: PER_SECOND, count });
      const line = (part: number, limit: number) =>
        measurementOf({
          ...{ name: `${path} at ${PER_SECOND} a second, ${part}th percentile`, unit: "ms" },
          ...{ portcullis: [percentile(times, part)], aim: atMost(limit) },
        });
      measurements.push(line(50, 1), line(99, 5));
    }
  });
  return measurements;
}

/** How long after the order to flush the ruleset the status says that the kill switch is not active. */
export async function measureFlushes(side: Portcullis, rounds: number): Promise<Measurement[]> {
  const program = [process.execPath, join(import.meta.dir, "race.ts"), `${side.gateway.port}`, `${rounds}`];
  await side.connect(0);
  const { stdout, stderr } = await side.lab.exec(side.lab.namespaces.gateway, program);
  if (stdout === "") throw new Error(stderr);
  await side.disconnect();
  const times: (number | null)[] = JSON.parse(stdout);
  const seen = times.map((ms) => ms ?? Number.POSITIVE_INFINITY);
  const late = seen.filter((ms) => ms > SEEN_WITHIN_MS);
  const line = (name: string, unit: string, value: number, limit: number) =>
    measurementOf({ name: `flush to the status, ${name}`, unit, portcullis: [value], aim: atMost(limit) });
  return [
    ...[50, 90, 99].map((part) => line(`${part}th percentile`, "ms", percentile(seen, part), SEEN_WITHIN_MS)),
    line(`later than ${SEEN_WITHIN_MS} ms or never, of ${rounds}`, "", late.length, 0),
  ];
}

/** The programs that run while many ask and nothing changes, in a traced contest. */
export async function measureStatusPrograms(side: Portcullis, count: number): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  await whileConnected(side, async (computer) => {
    for (const path of PATHS) {
      const beganAt = now();
      await computer.ask({ port: side.gateway.port, path, perSecond: PER_SECOND, count });
      const run = executionsIn(readFileSync(traceOf(side.lab), "utf8")).filter(({ at }) => at >= beganAt);
      measurements.push(
        measurementOf({
          ...{ name: `programs run in ${count} questions to ${path}`, unit: "" },
          ...{ portcullis: [run.length], aim: atMost(0) },
        }),
      );
    }
  });
  return measurements;
}

async function whileConnected(side: Portcullis, work: (computer: Computer) => Promise<void>): Promise<void> {
  // Only on loopback has one machine as many addresses as it takes.
  const computer = await Computer.start(side.lab.namespaces.gateway);
  try {
    await side.connect(0);
    await Bun.sleep(SETTLED_MS);
    // The first question after the connect reads what the connect has changed.
    const once = { port: side.gateway.port, perSecond: PER_SECOND, count: 1 };
    for (const path of PATHS) await computer.ask({ ...once, path });
    await work(computer);
    await side.disconnect();
  } finally {
    computer.stop();
  }
}
