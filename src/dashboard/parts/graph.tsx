import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { clockOf, rateOf } from "../format.ts";
import { HISTORY_SECONDS, type Sample } from "../traffic.ts";

const HEIGHT_PX = 180;
/** Less than this at the top of the scale would show single packets as mountains. */
const LEAST_TOP = 12_500;

/** The rates of the last ten minutes: what was received is drawn as an area, what was sent as a line. */
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
  const of = (side: "rx" | "tx") => samples.map(({ rate }) => rate?.[side] ?? null);
  return [samples.map(({ at }) => at), of("rx"), of("tx")];
}

function optionsFor(element: HTMLElement): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => {
    // A canvas does not understand light-dark(): a property of the element is resolved first.
    element.style.color = `var(--${name})`;
    const resolved = style.color;
    element.style.color = "";
    return resolved;
  };
  const axis = {
    stroke: colour("quiet"),
    grid: { stroke: colour("line"), width: 1 },
    ticks: { show: false },
  };
  const font = `12px ${style.fontFamily}`;
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: true, range: (_, __, last) => [last - HISTORY_SECONDS, last] },
      y: { range: (_, __, most) => [0, Math.max(LEAST_TOP, (most ?? 0) * 1.1)] },
    },
    axes: [
      { ...axis, font, values: (_, times) => times.map(clockOf), space: 80 },
      { ...axis, font, values: (_, rates) => rates.map(rateOf), size: 84, space: 40 },
    ],
    series: [
      {},
      { stroke: colour("received"), fill: colour("received-area"), width: 2, points: { show: false } },
      { stroke: colour("sent"), width: 2, dash: [6, 3], points: { show: false } },
    ],
  };
}
