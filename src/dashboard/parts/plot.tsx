import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { bitRateOf } from "../format.ts";
import { areaPath, linePath, type Point, timeMarks, valueMarks } from "./plot-marks.ts";

/** Seconds since 1970, and what was received and sent then; null is a gap. */
export type PlotData = readonly [
  times: readonly number[],
  received: readonly (number | null)[],
  sent: readonly (number | null)[],
];

export interface PlotProps {
  data: PlotData;
  /** The first and the last time, in seconds since 1970. */
  range: readonly [from: number, to: number];
  timeText: (seconds: number) => string;
  /** What is drawn upwards, if not rates. */
  scale?: Scale;
  /** Each value lasts until the next one. */
  isStepped?: boolean;
  /** Times with another ground. */
  shaded?: readonly { from: number; to: number }[];
  label: string;
}

interface Scale {
  /** At the top, at least. */
  leastTop: number;
  text: (value: number) => string;
}

/** What a home sends in which nobody does anything, in bits per second. */
const RATES: Scale = { leastTop: 5_000, text: bitRateOf };
/** In letters of the standard size: room around the lines, and between marks. */
const ROOM = { left: 5.25, right: 1.5, top: 0.5, bottom: 1.375, times: 5, values: 2.125 };
/** A shorter time could not be seen. */
const LEAST_SHADE_PX = 2;
const MINUTE = 60;

/** Figures over time, such as rates: what was received as an area, what was sent as a broken line. */
export function Plot({ label, ...drawn }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<Size | null>(null);
  useLayoutEffect(() => {
    const { current } = place;
    if (current === null) return undefined;
    const measure = () => setSize(sizeOf(current));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={place} class="graph" role="img" aria-label={label}>
      {size !== null && <Drawn {...drawn} size={size} />}
    </div>
  );
}

interface Size {
  width: number;
  height: number;
  /** Of the page's letters, which a person may have made larger. */
  em: number;
}

function sizeOf(element: HTMLElement): Size {
  const em = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  return { width: element.clientWidth, height: element.clientHeight, em };
}

type DrawnProps = Omit<PlotProps, "label"> & { size: Size };

function Drawn({ data, range, timeText, scale = RATES, isStepped = false, shaded = [], size }: DrawnProps) {
  const { width, height, em } = size;
  const [from, to] = range;
  const [left, right, bottom] = [ROOM.left * em, width - ROOM.right * em, height - ROOM.bottom * em];
  const [times, received, sent] = data;
  const highest = Math.max(0, ...received.map(orZero), ...sent.map(orZero));
  const most = Math.max(scale.leastTop, highest * 1.1);
  const x = (at: number) =>
    left + (Math.min(Math.max(0, at - from), to - from) / (to - from)) * (right - left);
  const y = (value: number) => bottom - (value / most) * (bottom - ROOM.top * em);
  // The last one before the range is drawn at its beginning.
  const begin = Math.max(0, times.findIndex((at) => at > from) - 1);
  const pointsOf = (values: readonly (number | null)[]) =>
    times.slice(begin).map((at, n): Point => {
      const value = values[begin + n] ?? null;
      return value === null ? null : [x(at), y(value)];
    });
  const [down, up] = [pointsOf(received), pointsOf(sent)];
  const ahead = -MINUTE * new Date(to * 1_000).getTimezoneOffset();
  return (
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      {valueMarks(most, (bottom - ROOM.top * em) / (ROOM.values * em)).map((value) => (
        <g key={`value ${value}`} class="mark">
          <path d={`M${left} ${y(value)}H${right}`} />
          <text x={left - em / 4} y={y(value)} dy="0.35em" text-anchor="end">
            {scale.text(value)}
          </text>
        </g>
      ))}
      {timeMarks(from, to, (right - left) / (ROOM.times * em), ahead).map((at) => (
        <g key={`time ${at}`} class="mark">
          <path d={`M${x(at)} ${ROOM.top * em}V${bottom}`} />
          {x(at) > left + em && (
            <text x={x(at)} y={height - em / 4} text-anchor="middle">
              {timeText(at)}
            </text>
          )}
        </g>
      ))}
      {shaded.map(({ from: begins, to: ends }) => (
        <rect
          key={`shaded ${begins}`}
          class="shaded"
          x={x(begins)}
          y={ROOM.top * em}
          width={Math.max(LEAST_SHADE_PX, x(ends) - x(begins))}
          height={bottom - ROOM.top * em}
        />
      ))}
      <path class="area" d={areaPath(down, isStepped, bottom)} />
      <path class="received" d={linePath(down, isStepped)} />
      <path class="sent" d={linePath(up, isStepped)} />
    </svg>
  );
}

function orZero(value: number | null): number {
  return value ?? 0;
}
