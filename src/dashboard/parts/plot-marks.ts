/** The lines and marks of a plot, as paths of SVG. Points are in pixels from its upper left corner. */

/** A place in the plot; null is a gap. */
export type Point = readonly [x: number, y: number] | null;

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 14].map((days) => days * DAY),
];
const LONGEST_STEP = 28 * DAY;

/** Times at round hours and minutes of the reader, who is `ahead` of UTC; `most` of them at most. */
export function timeMarks(from: number, to: number, most: number, ahead: number): number[] {
  const step = TIME_STEPS.find((each) => (to - from) / each <= most) ?? LONGEST_STEP;
  const first = Math.ceil((from + ahead) / step) * step - ahead;
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, n) => first + n * step);
}

/** Round values from 0 to `top`, `most` of them above 0 at most. */
export function valueMarks(top: number, most: number): number[] {
  const least = top / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * ([1, 2, 5].find((each) => each * power >= least) ?? 10);
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, n) => n * step);
}

/** From point to point; with steps, each height lasts until the next point. */
export function linePath(points: readonly Point[], isStepped: boolean): string {
  return runsOf(points)
    .map((run) => pathOf(run, isStepped))
    .join("");
}

/** What is below the line. */
export function areaPath(points: readonly Point[], isStepped: boolean, bottom: number): string {
  return runsOf(points)
    .map((run) => `${pathOf(run, isStepped)}V${round(bottom)}H${round(run[0]?.[0] ?? 0)}Z`)
    .join("");
}

type Run = readonly NonNullable<Point>[];

/** Points without a gap between them. */
function runsOf(points: readonly Point[]): Run[] {
  const runs: NonNullable<Point>[][] = [[]];
  for (const point of points) {
    if (point !== null) runs.at(-1)?.push(point);
    else if (runs.at(-1)?.length !== 0) runs.push([]);
  }
  return runs.filter((run) => run.length > 0);
}

function pathOf(run: Run, isStepped: boolean): string {
  return run
    .map(([x, y], n) =>
      n === 0
        ? `M${round(x)} ${round(y)}`
        : isStepped
          ? `H${round(x)}V${round(y)}`
          : `L${round(x)} ${round(y)}`,
    )
    .join("");
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}
