import { readFileSync } from "node:fs";
import { createLab, type Lab } from "../tools/lab.ts";
import { now } from "./clock.ts";
import type { ContestOptions } from "./contest.ts";
import { atMost, type Measurement, measurementOf } from "./measure.ts";
import { Portcullis } from "./portcullis.ts";
import { progress } from "./progress.ts";
import { startUser } from "./user.ts";
import { type WakeUps, wakeUpsBetween, wakeUpsOf } from "./wake-ups.ts";

/**
 * What a start and a connect set in motion is over by then: after a minute, traces of old keys are erased, and after
 * four at most, the first minutes of the history are written.
 */
const AFTERMATH_MS = 250_000;
/** Two questions of quality are over by then. */
const SETTLED_MS = 20_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const MEGABYTE = 1_000_000;

export interface IdleEffort {
  /** Several of the times after which the service writes what it has gathered. */
  restMs: number;
  /** While a device uses the tunnel. */
  useMs: number;
}

/** What the service has done in a span of time. */
interface Work {
  wakeUpsAMinute: number;
  megabytesADay: number;
}

/** Two gateways with a connected tunnel, of which the first measures quality. */
export class IdlePair {
  private readonly labs: Lab[] = [];
  private readonly sides: Portcullis[] = [];
  private connectedAt = 0;

  static async open(how: Pick<ContestOptions, "program">): Promise<IdlePair> {
    const pair = new IdlePair();
    try {
      for (const on of [true, false]) await pair.add(on, how);
      pair.connectedAt = now();
      return pair;
    } catch (error) {
      await pair.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const { computer } of this.sides) computer.stop();
    for (const lab of this.labs) await lab.close();
  }

  /**
   * How often the service wakes up, and what it writes: without traffic but keepalives, and with a device that uses the
   * tunnel.
   */
  async measure(effort: IdleEffort): Promise<Measurement[]> {
    await Bun.sleep(Math.max(0, this.connectedAt + AFTERMATH_MS - now()));
    return measureBoth(this.sides as [Portcullis, Portcullis], effort);
  }

  private async add(isMeasured: boolean, how: Pick<ContestOptions, "program">): Promise<void> {
    const lab = await createLab({ cards: 2 });
    this.labs.push(lab);
    const side = await Portcullis.start(lab, how);
    this.sides.push(side);
    await side.call("PUT", "/api/settings", { quality: { on: isMeasured } });
    await side.connect(0);
  }
}

async function measureBoth(
  sides: readonly [Portcullis, Portcullis],
  { restMs, useMs }: IdleEffort,
): Promise<Measurement[]> {
  const idle = await worked(sides, restMs);
  progress("idle, while a device uses the tunnel");
  const users = sides.map(({ lab }) => startUser(lab));
  await Bun.sleep(SETTLED_MS);
  const used = await worked(sides, useMs);
  for (const user of users) user.kill("SIGKILL");
  const line = (
    what: string,
    unit: string,
    works: readonly [Work, Work],
    of: (work: Work) => number,
    most?: number,
  ) =>
    measurementOf({
      name: `${what}, quality measured (against not)`,
      ...{ unit, portcullis: [of(works[0])], wgQuick: [of(works[1])] },
      ...(most !== undefined && { aim: atMost(most) }),
    });
  const wakeUps = ({ wakeUpsAMinute }: Work) => wakeUpsAMinute;
  const written = ({ megabytesADay }: Work) => megabytesADay;
  return [
    line(`wake-ups a minute, connected and idle (${restMs / 1_000} s seen)`, "", idle, wakeUps, 120),
    line("written to the disk in a day, connected and idle", "MB", idle, written, 10),
    line(`wake-ups a minute, connected and used (${useMs / 1_000} s seen)`, "", used, wakeUps),
  ];
}

async function worked(sides: readonly [Portcullis, Portcullis], ms: number): Promise<[Work, Work]> {
  const [before, otherBefore] = [figuresOf(sides[0]), figuresOf(sides[1])];
  await Bun.sleep(ms);
  return [workBetween(before, figuresOf(sides[0]), ms), workBetween(otherBefore, figuresOf(sides[1]), ms)];
}

interface Figures {
  wakeUps: WakeUps;
  written: number;
}

function workBetween(before: Figures, after: Figures, ms: number): Work {
  return {
    wakeUpsAMinute: (wakeUpsBetween(before.wakeUps, after.wakeUps) * MINUTE_MS) / ms,
    megabytesADay: ((after.written - before.written) * DAY_MS) / ms / MEGABYTE,
  };
}

/** Bytes are those of whole pages, as the kernel writes them. */
function figuresOf({ gateway }: Portcullis): Figures {
  return {
    wakeUps: wakeUpsOf(gateway.pid),
    written: figureIn(`/proc/${gateway.pid}/io`, /^write_bytes: (\d+)$/m),
  };
}

function figureIn(file: string, pattern: RegExp): number {
  return Number(pattern.exec(readFileSync(file, "utf8"))?.[1]);
}
