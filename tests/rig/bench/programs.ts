import { readFileSync } from "node:fs";
import { now } from "./clock.ts";
import type { Contest } from "./contest.ts";
import { atMost, type Measurement, measurementOf } from "./measure.ts";
import { inTurns } from "./rounds.ts";
import type { Side, Span } from "./side.ts";
import { executionsIn, traceOf } from "./trace.ts";

/** What an order sets in motion is over by then: a former tunnel goes a second after a switch. */
const AFTERMATH_MS = 2_000;
const MINUTE_MS = 60_000;

/**
 * Counts programs in a traced contest, by the system call that starts them. `wireguard-go` starts itself once more:
 * that counts, too.
 */
export async function measurePrograms(
  { portcullis, wgQuick }: Contest,
  rounds: number,
  idleMs: number,
): Promise<Measurement[]> {
  const [ours, theirs] = [traceOf(portcullis.lab), traceOf(wgQuick.lab)];
  // The first connect finds out what this kernel can.
  await connectSwitchDisconnect(portcullis);
  const spans = await inTurns({ portcullis, wgQuick }, rounds, connectSwitchDisconnect);
  await portcullis.connect(0);
  await Bun.sleep(AFTERMATH_MS);
  const idleSince = now();
  await Bun.sleep(idleMs);
  const idle = countIn(ours, { startedAt: idleSince, endedAt: now() }) * (MINUTE_MS / idleMs);
  const line = (order: keyof Orders, limit: number) =>
    measurementOf({
      ...{ name: `programs run in a ${order}`, unit: "" },
      portcullis: spans.portcullis.map((orders) => countIn(ours, orders[order])),
      wgQuick: spans.wgQuick.map((orders) => countIn(theirs, orders[order])),
      aim: atMost(limit),
    });
  return [
    line("connect", 6),
    line("switch", 6),
    line("disconnect", 4),
    measurementOf({
      name: `programs a minute, connected and idle (${idleMs / 1_000} s seen)`,
      ...{ unit: "", portcullis: [idle], aim: atMost(12) },
    }),
  ];
}

type Orders = Record<"connect" | "switch" | "disconnect", Span>;

async function connectSwitchDisconnect(side: Side): Promise<Orders> {
  const settled = async (order: Promise<Span>): Promise<Span> => {
    const { startedAt } = await order;
    await Bun.sleep(AFTERMATH_MS);
    return { startedAt, endedAt: now() };
  };
  return {
    connect: await settled(side.connect(0)),
    switch: await settled(side.switch(1)),
    disconnect: await settled(side.disconnect()),
  };
}

/** How many programs have started in a span of a trace. */
export function countIn(file: string, { startedAt, endedAt }: Span): number {
  return executionsIn(readFileSync(file, "utf8")).filter(({ at }) => at >= startedAt && at < endedAt).length;
}
