import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { bitRateOf } from "../format.ts";

/** Bits per second at the top of the scale, at least: what a home sends in which nobody does anything. */
const LEAST_TOP = 5_000;
/** Pixels at the usual size of letters. */
const SIZES = {
  letters: 12,
  text: 16,
  right: 24,
  top: 8,
  times: 22,
  rates: 84,
  gap: 4,
  apart: 80,
  lines: 34,
};

export interface PlotProps {
  /** Seconds since 1970, and the bits per second that were received and sent. */
  data: uPlot.AlignedData;
  /** What is special about it; called when it is first drawn, and again in another colour scheme. */
  special: (element: HTMLElement) => Special;
  label: string;
}

interface Scale {
  /** At the top, at least. */
  leastTop: number;
  text: (value: number) => string;
}

const RATES: Scale = { leastTop: LEAST_TOP, text: bitRateOf };

interface Special {
  /** The first and the last time. */
  range: (times: ArrayLike<number>) => [from: number, to: number];
  timeText: (seconds: number) => string;
  series?: uPlot.Series;
  /** What is drawn upwards, if not rates. */
  scale?: Scale;
  /** Draws behind the lines. */
  ground?: (plot: uPlot) => void;
}

/** Figures over time, such as rates: what was received as an area, what was sent as a broken line. */
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
      plot.current?.setSize({ width: element.clientWidth, height: element.clientHeight }),
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

function optionsFor(
  element: HTMLElement,
  { range, timeText, series, scale: up = RATES, ground }: Special,
): uPlot.Options {
  const style = getComputedStyle(element);
  // With the letters of the page, which a person may have made larger.
  const scale = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / SIZES.text;
  const px = (name: keyof typeof SIZES) => SIZES[name] * scale;
  const axis = {
    font: `${px("letters")}px ${style.fontFamily}`,
    stroke: colourOf(element, "quiet"),
    grid: { stroke: colourOf(element, "line"), width: 1 },
    ticks: { show: false },
  };
  const line = { width: 2, points: { show: false }, ...series };
  return {
    width: element.clientWidth,
    height: element.clientHeight,
    // Room for the right half of the last time.
    padding: [px("top"), px("right"), 0, 0],
    legend: { show: false },
    cursor: { show: false },
    hooks: { drawClear: ground === undefined ? [] : [ground] },
    scales: {
      x: { range: ({ data: [times] }) => range(times) },
      y: { range: (_, __, most) => [0, Math.max(up.leastTop, (most ?? 0) * 1.1)] },
    },
    axes: [
      {
        ...axis,
        values: (_, times) => times.map(timeText),
        size: px("times"),
        gap: px("gap"),
        space: px("apart"),
      },
      { ...axis, values: (_, rates) => rates.map(up.text), size: px("rates"), space: px("lines") },
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
