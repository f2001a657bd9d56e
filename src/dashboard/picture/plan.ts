import type { Lane, Row, Strand } from "./model.ts";

/** Where everything of the picture is, in pixels. */
export interface Plan {
  /** `across`: left to right, with places at the right; `narrow`: with places under their tunnels; `down`: top to bottom. */
  shape: "across" | "narrow" | "down";
  width: number;
  height: number;
  house: Box;
  gate: Box;
  /** Where the gate's name is: its middle across, its right edge down. */
  gateLabel: Point;
  rows: readonly (Row & Box)[];
  lanes: readonly Opening[];
  lines: readonly Line[];
  exits: readonly ExitLabel[];
  /** Where lines come in through the wall of the house. */
  rings: readonly (Point & { row: string })[];
}

export interface Point {
  x: number;
  y: number;
}
export interface Box extends Point {
  w: number;
  h: number;
}

/** A lane's place in the gate. */
export interface Opening extends Lane, Box {
  /** Of what goes through it, across its course. Beside that is room for the line to where the exit is being moved. */
  middle: number;
}

export interface Line {
  id: string;
  /** The path of an SVG. */
  d: string;
  width: number;
  /** The width of the tube around it; 0 for none. */
  tube: number;
  look: Lane["look"] | "moving" | "rule";
  part: "inside" | "outside";
  /** Of these rows and lanes it is a line. */
  of: readonly string[];
  /** Where it ends, if that is a place. */
  end: Point | null;
}

/** What stands at the end of a lane. */
export interface ExitLabel {
  lane: Lane;
  /** Where the sentence stands: "9 devices through main". */
  sentence: Box | null;
  /** Where the place stands, or what is blocked. */
  place: Box;
  /** Where the place stands that it is moved to. */
  target: Box | null;
  rules: readonly (Box & { lane: Lane })[];
}

/** Sizes for the size of the page's letters: with 200 % the picture is larger, and its labels do not overlap. */
export type Scale = (pixels: number) => number;

export function rowHeight(row: Row, u: Scale): number {
  return row.isInner ? u(34) : u(48);
}

export function sumOf<T>(all: readonly T[], sizeOf: (one: T) => number): number {
  return all.reduce((sum, one) => sum + sizeOf(one), 0);
}

/** One below the other. */
export function stacked(rows: readonly Row[], box: Omit<Box, "h">, u: Scale): (Row & Box)[] {
  let y = box.y;
  return rows.map((row) => {
    const h = rowHeight(row, u);
    const placed = { ...row, ...box, y, h };
    y += h;
    return placed;
  });
}

const GAP = 3;

/** Where the strands of each row begin, and those of each lane end, by the strands' ids. */
export function endsOf(all: readonly Strand[], middle: number): Map<string, number> {
  const ends = new Map<string, number>();
  let at = middle - (sumOf(all, ({ width }) => width) + GAP * (all.length - 1)) / 2;
  for (const { id, width } of all) {
    ends.set(id, at + width / 2);
    at += width + GAP;
  }
  return ends;
}

/** Side by side without gaps. */
export function bundled(all: readonly Strand[], middle: number, direction: 1 | -1 = 1): Map<string, number> {
  const ends = new Map<string, number>();
  let at = middle - (direction * sumOf(all, ({ width }) => width)) / 2;
  for (const { id, width } of all) {
    ends.set(id, at + (direction * width) / 2);
    at += direction * width;
  }
  return ends;
}

export function strandsTo(rows: readonly Row[], lane: Lane): Strand[] {
  return lane.rule === null
    ? rows.flatMap(({ strands }) => strands.filter((each) => each.lane === lane.id))
    : [];
}

/** A closed lane stops its lines at the gate. */
export function isStopped({ look }: Pick<Lane, "look">): boolean {
  return look === "closed";
}

export const round = (n: number) => Math.round(n * 10) / 10;

/** The size of an opening across its course, of which a part is for the line to where the exit is being moved. */
export function openingSize({ rule, width, exit }: Lane, least: number, u: Scale): number {
  return rule === null ? Math.max(least, width + u(14)) + movingSize({ rule, exit }, u) : u(8);
}

export function movingSize({ rule, exit }: Pick<Lane, "rule" | "exit">, u: Scale): number {
  return rule === null && exit.target !== null ? u(14) : 0;
}

/** What belongs to one exit stands closer together. */
export function gapAfter({ rule }: Lane, u: Scale): number {
  return u(rule === null ? 6 : 3);
}
