import type { Contest } from "./contest.ts";
import { atMost, type Measurement, measurementOf } from "./measure.ts";
import { inTurns } from "./rounds.ts";
import type { Side } from "./side.ts";

const INTERVAL_MS = 5;
/** Before and after the switch: enough for a gap to be told from a slow start. */
const STEADY_MS = 500;
/** Between orders: the interface allows five a second. */
const PAUSE_MS = 300;

interface Round {
  lost: number;
  gapMs: number;
  leaked: number;
  orderMs: number;
}

/**
 * A stream of datagrams from the LAN while the tunnel moves to the other server. `wg-quick` has the choice: with
 * rules that refuse the clear it loses datagrams, without them it leaks; each is shown where it matters.
 */
export async function measureSwitch(contest: Contest, rttMs: number, rounds: number): Promise<Measurement[]> {
  const { portcullis, wgQuick } = await inTurns(contest, rounds, switchUnderTraffic);
  await contest.wgQuick.forward("plain");
  const plain: Round[] = [];
  while (plain.length < rounds) plain.push(await switchUnderTraffic(contest.wgQuick));
  await contest.wgQuick.forward("guarded");
  const line = (name: string, unit: string, of: (round: Round) => number, theirs = wgQuick) => ({
    ...{ name: `switch: ${name}`, rttMs, unit },
    portcullis: portcullis.map(of),
    wgQuick: theirs.map(of),
  });
  return [
    measurementOf({ ...line("datagrams lost", "", (round) => round.lost), aim: atMost(0) }),
    measurementOf(line("longest gap", "ms", (round) => round.gapMs)),
    measurementOf({
      ...line("frames in clear (wg-quick: no guard)", "", (round) => round.leaked, plain),
      aim: atMost(0),
    }),
    measurementOf(line("order to its own answer", "ms", (round) => round.orderMs)),
  ];
}

async function switchUnderTraffic(side: Side): Promise<Round> {
  const { lab } = side;
  await side.connect(0);
  await side.computer.look("answer");
  const sniffer = await lab.sniff();
  const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"], intervalMs: INTERVAL_MS });
  await Bun.sleep(STEADY_MS);
  const { startedAt, endedAt } = await side.switch(1);
  await Bun.sleep(STEADY_MS);
  const { udp } = await traffic.stop();
  const caught = await sniffer.stop();
  if (udp === undefined || caught.missed > 0) throw new Error("the stream was not seen whole");
  await side.disconnect();
  await Bun.sleep(PAUSE_MS);
  return {
    lost: udp.lost.length,
    gapMs: udp.longestGapMs,
    leaked: caught.leaks.length,
    orderMs: endedAt - startedAt,
  };
}
