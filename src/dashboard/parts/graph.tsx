import { useMemo } from "preact/hooks";
import { bitsOf, clockOf } from "../format.ts";
import { HISTORY_SECONDS, type Sample } from "../traffic.ts";
import { Plot, type PlotData } from "./plot.tsx";

/** The rates of the last ten minutes. */
export function Graph({ samples, label }: { samples: readonly Sample[]; label: string }) {
  const data = useMemo(() => dataOf(samples), [samples]);
  const last = data[0].at(-1) ?? Date.now() / 1_000;
  return <Plot data={data} range={[last - HISTORY_SECONDS, last]} timeText={clockOf} label={label} />;
}

function dataOf(samples: readonly Sample[]): PlotData {
  const side = (name: "rx" | "tx") => samples.map(({ rate }) => (rate === null ? null : bitsOf(rate[name])));
  return [samples.map(({ at }) => at), side("rx"), side("tx")];
}
