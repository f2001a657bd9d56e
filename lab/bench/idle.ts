import { readFileSync } from "node:fs";
import { atMost, type Measurement, measurementOf } from "./measure.ts";
import type { Portcullis } from "./portcullis.ts";
import { type WakeUps, wakeUpsBetween, wakeUpsOf } from "./wake-ups.ts";

/**
 * What a start and a connect set in motion is over by then: after a minute, traces of old keys are erased, and after
 * four at most, the first minutes of the history are written.
 */
const AFTERMATH_MS = 250_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const MEGABYTE = 1_000_000;

/** How often the service wakes up, and what it writes, with a connected tunnel and no traffic but keepalives. */
export async function measureIdle(side: Portcullis, spanMs: number): Promise<Measurement[]> {
  await side.gateway.restart();
  await side.connect(0);
  await Bun.sleep(AFTERMATH_MS);
  const before = figuresOf(side);
  await Bun.sleep(spanMs);
  const after = figuresOf(side);
  await side.disconnect();
  return [
    measurementOf({
      name: `wake-ups a minute, connected and idle (${spanMs / 1_000} s seen)`,
      unit: "",
      portcullis: [(wakeUpsBetween(before.wakeUps, after.wakeUps) * MINUTE_MS) / spanMs],
      aim: atMost(120),
    }),
    measurementOf({
      name: "written to the disk in a day, connected and idle",
      unit: "MB",
      portcullis: [((after.written - before.written) * DAY_MS) / spanMs / MEGABYTE],
      aim: atMost(10),
    }),
  ];
}

/** Bytes are those of whole pages, as the kernel writes them. */
function figuresOf({ gateway }: Portcullis): { wakeUps: WakeUps; written: number } {
  return {
    wakeUps: wakeUpsOf(gateway.pid),
    written: figureIn(`/proc/${gateway.pid}/io`, /^write_bytes: (\d+)$/m),
  };
}

function figureIn(file: string, pattern: RegExp): number {
  return Number(pattern.exec(readFileSync(file, "utf8"))?.[1]);
}
