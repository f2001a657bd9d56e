import { type Measurement, measurementOf, ratioAtMost } from "./measure.ts";
import { inTurns, type Sides } from "./rounds.ts";
import type { Side } from "./side.ts";

/** Between orders: the interface allows five a second, and an old tunnel's remains go meanwhile. */
const PAUSE_MS = 700;

/** From the order to the first answer at a computer of the LAN, and from the end's order to the first refusal. */
export async function measureConnect(sides: Sides, rttMs: number, rounds: number): Promise<Measurement[]> {
  // The first connect finds out what this kernel can; later ones are what people meet.
  await inTurns(sides, 1, connectAndDisconnect);
  const { portcullis, wgQuick } = await inTurns(sides, rounds, connectAndDisconnect);
  return [
    measurementOf({
      name: "connect: order to the LAN's first answer",
      ...{ rttMs, unit: "ms", aim: ratioAtMost(0.65) },
      portcullis: portcullis.map((round) => round.connectMs),
      wgQuick: wgQuick.map((round) => round.connectMs),
    }),
    measurementOf({
      name: "connect: order to its own answer",
      ...{ rttMs, unit: "ms" },
      portcullis: portcullis.map((round) => round.orderMs),
      wgQuick: wgQuick.map((round) => round.orderMs),
    }),
    measurementOf({
      name: "disconnect: order to the LAN's first refusal",
      ...{ rttMs, unit: "ms" },
      portcullis: portcullis.map((round) => round.disconnectMs),
      wgQuick: wgQuick.map((round) => round.disconnectMs),
    }),
  ];
}

async function connectAndDisconnect(
  side: Side,
): Promise<{ connectMs: number; orderMs: number; disconnectMs: number }> {
  const [answered, connected] = await Promise.all([side.computer.look("answer"), side.connect(0)]);
  await Bun.sleep(PAUSE_MS);
  const [refused, disconnected] = await Promise.all([side.computer.look("refusal"), side.disconnect()]);
  await Bun.sleep(PAUSE_MS);
  return {
    connectMs: answered - connected.startedAt,
    orderMs: connected.endedAt - connected.startedAt,
    disconnectMs: refused - disconnected.startedAt,
  };
}
