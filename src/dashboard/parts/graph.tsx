import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import { bitsOf, clockOf } from "../format.ts";
import { HISTORY_SECONDS, type Sample } from "../traffic.ts";
import { Plot } from "./plot.tsx";

/** The rates of the last ten minutes. */
export function Graph({ samples, label }: { samples: readonly Sample[]; label: string }) {
  const data = useMemo(() => dataOf(samples), [samples]);
  return <Plot data={data} special={() => ({ range: lastMinutes, timeText: clockOf })} label={label} />;
}

function dataOf(samples: readonly Sample[]): uPlot.AlignedData {
  const side = (name: "rx" | "tx") => samples.map(({ rate }) => (rate === null ? null : bitsOf(rate[name])));
  return [samples.map(({ at }) => at), side("rx"), side("tx")];
}

function lastMinutes(times: ArrayLike<number>): [from: number, to: number] {
  const last = times[times.length - 1] ?? Date.now() / 1_000;
  return [last - HISTORY_SECONDS, last];
}
