import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { bitRateOf, bitsOf, clockOf } from "../format.ts";
import { HISTORY_SECONDS, type Sample } from "../traffic.ts";

const HEIGHT_PX = 180;
/** Bits per second at the top of the scale, at least: otherwise single packets would look like mountains. */
const LEAST_TOP = 100_000;

/** The rates of the last ten minutes: what was received as an area, what was sent as a broken line. */
export function Graph({ samples, label }: { samples: readonly Sample[]; label: string }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data = useRef<uPlot.AlignedData>([[], [], []]);
  data.current = dataOf(samples);
  useEffect(() => plot.current?.setData(data.current), [samples]);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsFor(element), data.current, element);
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

function dataOf(samples: readonly Sample[]): uPlot.AlignedData {
  const side = (name: "rx" | "tx") => samples.map(({ rate }) => (rate === null ? null : bitsOf(rate[name])));
  return [samples.map(({ at }) => at), side("rx"), side("tx")];
}

function optionsFor(element: HTMLElement): uPlot.Options {
  const style = getComputedStyle(element);
  const axis = {
    font: `12px ${style.fontFamily}`,
    stroke: colourOf(element, "quiet"),
    grid: { stroke: colourOf(element, "line"), width: 1 },
    ticks: { show: false },
  };
  const line = { width: 2, points: { show: false } };
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { range: ({ data: [times] }) => lastMinutes(times.at(-1)) },
      y: { range: (_, __, most) => [0, Math.max(LEAST_TOP, (most ?? 0) * 1.1)] },
    },
    axes: [
      { ...axis, values: (_, times) => times.map(clockOf), size: 22, gap: 4, space: 80 },
      { ...axis, values: (_, rates) => rates.map(bitRateOf), size: 84, space: 34 },
    ],
    series: [
      {},
      { ...line, stroke: colourOf(element, "received"), fill: colourOf(element, "received-area") },
      { ...line, stroke: colourOf(element, "sent"), dash: [6, 3] },
    ],
  };
}

function lastMinutes(last = Date.now() / 1_000): [from: number, to: number] {
  return [last - HISTORY_SECONDS, last];
}

/** A canvas does not understand `light-dark()`, so the browser resolves a colour of tokens.css as the element's own. */
function colourOf(element: HTMLElement, name: string): string {
  element.style.color = `var(--${name})`;
  const { color } = getComputedStyle(element);
  element.style.color = "";
  return color;
}
