import type { HistoryPage } from "../history/schema.ts";
import { bitsOf } from "./format.ts";
import type { PlotData } from "./parts/plot.tsx";

/** A graph needs different times, in seconds. */
const SOON = 0.001;

/** The mean rates of steps up to now: 0 if nothing was carried, null while the gateway did not run. */
export function dataOf({ points, off, from, to }: HistoryPage, step: number, now: number): PlotData {
  const first = secondsOf(from);
  const end = Math.min(secondsOf(to), now);
  const times = Array.from(
    { length: Math.max(0, Math.ceil((end - first) / step)) },
    (_, n) => first + n * step,
  );
  const sums = times.map(() => ({ rx: 0, tx: 0 }));
  for (const { at, rx_bytes, tx_bytes } of points) {
    const sum = sums[Math.floor((secondsOf(at) - first) / step)];
    if (sum === undefined) continue;
    sum.rx += rx_bytes;
    sum.tx += tx_bytes;
  }
  const isOff = times.map((at, n) => {
    const { rx, tx } = sums[n] ?? { rx: 0, tx: 0 };
    const until = Math.min(end, at + step);
    return rx + tx === 0 && off.some((each) => secondsOf(each.from) <= at && secondsOf(each.until) >= until);
  });
  const side = (name: "rx" | "tx") =>
    sums.map((sum, n) => (isOff[n] ? null : bitsOf(sum[name]) / Math.min(step, end - (times[n] ?? first))));
  // A step is drawn up to the next time: the last one needs the end, and one before a gap the time at which that begins.
  const isGapAfter = times.map((_, n) => n > 0 && isOff[n] === true && isOff[n - 1] === false);
  const closed = <T>(values: readonly T[], end: readonly T[]) => [
    ...values.flatMap((value, n) => (isGapAfter[n] ? [values[n - 1] as T, value] : [value])),
    ...end,
  ];
  const ends = times.length === 0 ? [] : [end];
  const after = times.map((at, n) => (isGapAfter[n] ? at + SOON : at));
  const at = after.flatMap((each, n) => (isGapAfter[n] ? [times[n] ?? each, each] : [each]));
  const [rx, tx] = [side("rx"), side("tx")];
  return [[...at, ...ends], closed(rx, rx.slice(-1)), closed(tx, tx.slice(-1))];
}

export function secondsOf(iso: string): number {
  return Date.parse(iso) / 1_000;
}
