import { type Measurement, measurementOf, ratioAtLeast } from "./measure.ts";
import { inTurns, type Sides } from "./rounds.ts";
import { rateOf, streamed, wayOut } from "./stream.ts";

/** Short, and many of them: what else runs on the machine then hits both sides alike. */
const STREAM_SECONDS = 0.7;
/** Rounds differ by more than this on a busy machine; a slower path would show as more. */
const EQUAL = 0.95;

/** A stream from the LAN to the internet through both tunnels, one side at a time. */
export async function measureThroughput(sides: Sides, rounds: number): Promise<Measurement[]> {
  for (const side of [sides.portcullis, sides.wgQuick]) {
    await side.connect(0);
    await side.computer.look("answer");
  }
  const samples = await inTurns(sides, rounds, async ({ lab }) =>
    rateOf(await streamed(wayOut(lab), STREAM_SECONDS)),
  );
  for (const side of [sides.portcullis, sides.wgQuick]) await side.disconnect();
  return [
    measurementOf({
      name: "throughput, LAN to internet",
      ...{ rttMs: 0, unit: "Mbit/s", aim: ratioAtLeast(EQUAL) },
      ...samples,
    }),
  ];
}
