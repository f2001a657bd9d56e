import { useMemo } from "preact/hooks";
import type { HistoryPage } from "../../../history/schema.ts";
import { clockOf, dateOf, numberOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Table } from "../../parts/list.tsx";
import { Plot, type PlotData } from "../../parts/plot.tsx";
import { secondsOf } from "../../rates.ts";
import { beginOf } from "./figures.tsx";
import { LOOKS, type Span, type Subject } from "./span.ts";

/** Milliseconds at the top of the scale, at least. */
const LEAST_TOP = 20;

interface Step {
  /** In seconds since 1970. */
  at: number;
  /** Null if no answer came. */
  ms: number | null;
  variation: number | null;
  /** In percent. */
  lost: number;
}

/** The round trip of a tunnel or of the uplink in a time, and its loss; nothing where that was not measured. */
export function Quality({ page, span, whose }: { page: HistoryPage; span: Span; whose: Subject }) {
  const steps = useMemo(() => stepsOf(page, LOOKS[span].stepSeconds), [page]);
  if (steps.length === 0) return null;
  const { stepSeconds } = LOOKS[span];
  const most = Math.max(...steps.map(({ ms }) => ms ?? 0));
  const isLost = steps.some(({ lost }) => lost > 0);
  return (
    <section class="card">
      <h2>
        {whose === "uplink"
          ? say("Quality of the uplink")
          : say(
              "{tunnel, select, main {Quality of the main tunnel} other {Quality of the tunnel {tunnel}}}",
              {
                tunnel: whose.startsWith("tunnel ") ? whose.slice("tunnel ".length) : "main",
              },
            )}
      </h2>
      <Plot
        key={`${span} ${whose}`}
        data={plotted(steps, stepSeconds)}
        label={say("Graph of the round trip: {most} ms at most.", { most: numberOf(most) })}
        range={[secondsOf(page.from), secondsOf(page.to)]}
        timeText={span === "months" ? dateOf : clockOf}
        scale={{ leastTop: LEAST_TOP, text: (ms) => say("{ms} ms", { ms: numberOf(ms) }) }}
        shaded={steps.filter(({ lost }) => lost > 0).map(({ at }) => ({ from: at, to: at + stepSeconds }))}
      />
      <p class="quiet small">
        {say("The dashed line shows how much it varies.")}{" "}
        {isLost && (
          <>
            <span class="outage-sample" /> {say("Shaded: packets were lost.")}
          </>
        )}
      </p>
      <QualityFigures page={page} span={span} />
    </section>
  );
}

/** The same as a table, the latest first. */
function QualityFigures({ page, span }: { page: HistoryPage; span: Span }) {
  const timeText = span === "months" ? dateOf : clockOf;
  const { rowSeconds } = LOOKS[span];
  const rows = Map.groupBy(page.quality, ({ at }) => beginOf(at, rowSeconds));
  return (
    <details class="figures">
      <summary>{say("The graph as a table")}</summary>
      <Table
        heads={[say(span === "months" ? "Day" : "From"), say("Latency"), say("Lost")]}
        rows={[...rows].toReversed().map(([begin, points]) => {
          const ms = meanOf(points.flatMap(({ round_trip_ms }) => round_trip_ms ?? []));
          const lost = meanOf(points.map(({ loss_percent }) => loss_percent)) ?? 0;
          return [
            timeText(begin),
            ms === null ? say("no answer") : say("{ms} ms", { ms: numberOf(ms) }),
            say("{percent} %", { percent: numberOf(lost) }),
          ];
        })}
      />
    </details>
  );
}

function stepsOf({ quality, from }: HistoryPage, step: number): Step[] {
  const first = secondsOf(from);
  const groups = Map.groupBy(quality, ({ at }) => Math.floor((secondsOf(at) - first) / step));
  return [...groups].map(([n, points]) => ({
    at: first + n * step,
    ms: meanOf(points.flatMap(({ round_trip_ms }) => round_trip_ms ?? [])),
    variation: meanOf(points.flatMap(({ variation_ms }) => variation_ms ?? [])),
    lost: meanOf(points.map(({ loss_percent }) => loss_percent)) ?? 0,
  }));
}

/** Between steps that do not follow each other there is a gap. */
function plotted(steps: readonly Step[], step: number): PlotData {
  const rows = steps.flatMap(({ at, ms, variation }, n): [number, number | null, number | null][] => {
    const next = steps[n + 1];
    const row: [number, number | null, number | null] = [at, ms, ms === null ? null : ms + (variation ?? 0)];
    return next === undefined || next.at - at <= step ? [row] : [row, [at + step, null, null]];
  });
  return [rows.map(([at]) => at), rows.map(([, ms]) => ms), rows.map(([, , top]) => top)];
}

function meanOf(all: readonly number[]): number | null {
  return all.length === 0
    ? null
    : Math.round((10 * all.reduce((sum, each) => sum + each, 0)) / all.length) / 10;
}
