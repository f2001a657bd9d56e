import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { bitRateOf } from "../format.ts";

export const HEIGHT_PX = 180;
/** Bits per second at the top of the scale, at least: otherwise single packets would look like mountains. */
const LEAST_TOP = 100_000;

export interface PlotProps {
  /** Seconds since 1970, and the bits per second that were received and sent. */
  data: uPlot.AlignedData;
  /** What is special about it; called when it is first drawn, and again in another colour scheme. */
  special: (element: HTMLElement) => Special;
  label: string;
}

interface Special {
  /** The first and the last time. */
  range: (times: ArrayLike<number>) => [from: number, to: number];
  timeText: (seconds: number) => string;
  series?: uPlot.Series;
  /** Draws behind the lines. */
  ground?: (plot: uPlot) => void;
}

/** Rates over time: what was received as an area, what was sent as a broken line. */
export function Plot({ data, special, label }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef({ data, special });
  latest.current = { data, special };
  useEffect(() => plot.current?.setData(data), [data]);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const draw = () => {
      plot.current?.destroy();
      const options = optionsFor(element, latest.current.special(element));
      plot.current = new uPlot(options, latest.current.data, element);
    };
    draw();
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw);
    const size = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT_PX }),
    );
    size.observe(element);
    return () => {
      scheme.removeEventListener("change", draw);
      size.disconnect();
      plot.current?.destroy();
    };
  }, []);
  return <div ref={place} class="graph" role="img" aria-label={label} />;
}

function optionsFor(element: HTMLElement, { range, timeText, series, ground }: Special): uPlot.Options {
  const style = getComputedStyle(element);
  const axis = {
    font: `12px ${style.fontFamily}`,
    stroke: colourOf(element, "quiet"),
    grid: { stroke: colourOf(element, "line"), width: 1 },
    ticks: { show: false },
  };
  const line = { width: 2, points: { show: false }, ...series };
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    hooks: { drawClear: ground === undefined ? [] : [ground] },
    scales: {
      x: { range: ({ data: [times] }) => range(times) },
      y: { range: (_, __, most) => [0, Math.max(LEAST_TOP, (most ?? 0) * 1.1)] },
    },
    axes: [
      { ...axis, values: (_, times) => times.map(timeText), size: 22, gap: 4, space: 80 },
      { ...axis, values: (_, rates) => rates.map(bitRateOf), size: 84, space: 34 },
    ],
    series: [
      {},
      { ...line, stroke: colourOf(element, "received"), fill: colourOf(element, "received-area") },
      { ...line, stroke: colourOf(element, "sent"), dash: [6, 3] },
    ],
  };
}

/** A canvas does not understand `light-dark()`, so the browser resolves a colour of tokens.css as the element's own. */
export function colourOf(element: HTMLElement, name: string): string {
  element.style.color = `var(--${name})`;
  const { color } = getComputedStyle(element);
  element.style.color = "";
  return color;
}
