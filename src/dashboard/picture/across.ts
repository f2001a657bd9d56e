import type { Lane, Model, Row } from "./model.ts";
import {
  type Box,
  bundled,
  type ExitLabel,
  endsOf,
  gapAfter,
  isStopped,
  type Line,
  movingSize,
  type Opening,
  openingSize,
  type Plan,
  type Point,
  round,
  rowHeight,
  type Scale,
  stacked,
  strandsTo,
  sumOf,
} from "./plan.ts";

interface Room {
  width: number;
  u: Scale;
  /** Places stand under their tunnels. */
  isNarrow: boolean;
}

/** Devices at the left, the gate in the right wall of the house, places at the right. */
export function acrossPlan({ rows, lanes }: Model, room: Room): Plan {
  const { width, u, isNarrow } = room;
  const left = isNarrow ? u(238) : Math.min(u(324), width * 0.31);
  const gateX = isNarrow ? left + u(90) : Math.round(width * 0.455) - u(30);
  const columns: Columns = { left, gateX, gateEnd: gateX + u(60), tubeX: gateX + u(isNarrow ? 132 : 156) };
  const inside = rows.filter(({ isRemote }) => !isRemote);
  const remote = rows.filter(({ isRemote }) => isRemote);
  const heightOf = (row: Row) => rowHeight(row, u);
  const rowsHeight = sumOf(inside, heightOf);
  const remoteHeight = remote.length === 0 ? 0 : u(14) + sumOf(remote, heightOf);

  const gateHeight = u(HEAD + 4) + sumOf(lanes, (lane) => openingOf(lane, u) + gapAfter(lane, u));
  const exitsHeight = sumOf(exitsOf(lanes), (lane) => slotHeight(lane, lanes, room));
  const blockedHeight = lanes.some(isBlocked) ? u(58) : 0;
  const houseHeight = Math.max(
    u(54) + rowsHeight,
    gateHeight + u(110),
    exitsHeight + blockedHeight - remoteHeight + u(8),
  );
  const height = houseHeight + remoteHeight;

  const gate = { x: gateX, y: Math.round((houseHeight - gateHeight) / 2 + u(14)), w: u(60), h: gateHeight };
  const openings = openingsIn(gate, lanes, u);
  const label = { x: u(12), w: left - u(12) };
  const placed = [
    ...stacked(inside, { ...label, y: u(40) + (houseHeight - u(54) - rowsHeight) / 2 }, u),
    ...stacked(remote, { ...label, y: houseHeight + u(14) }, u),
  ];
  const inner = innerLines(placed, openings, columns, u);
  const outer = outerLines(openings, { ...room, ...columns, height, exitsHeight, blockedHeight });
  return {
    shape: isNarrow ? "narrow" : "across",
    width,
    height,
    house: { x: 0.5, y: 0.5, w: gateX + u(30), h: houseHeight - 1 },
    gate,
    gateLabel: { x: gateX + u(30), y: gate.y - u(42) },
    rows: placed,
    lanes: openings,
    lines: [...inner.lines, ...outer.lines],
    exits: outer.exits,
    rings: inner.crossings.map(({ row, from, to }) => ({ row, ...crossing(from, to, houseHeight) })),
  };
}

/** Of the gate, above its openings. */
const HEAD = 38;

interface Columns {
  left: number;
  gateX: number;
  gateEnd: number;
  tubeX: number;
}

function openingOf(lane: Lane, u: Scale): number {
  return openingSize(lane, u(30), u);
}

function openingsIn(gate: Box, lanes: readonly Lane[], u: Scale): Opening[] {
  let y = gate.y + u(HEAD);
  return lanes.map((lane) => {
    const h = openingOf(lane, u);
    const middle = y + (h - movingSize(lane, u)) / 2;
    const placed = { ...lane, x: gate.x, y, w: gate.w, h, middle };
    y += h + gapAfter(lane, u);
    return placed;
  });
}

interface Crossing {
  row: string;
  from: Point;
  to: Point;
}

/** From the devices to the gate. */
function innerLines(
  rows: readonly (Row & Box)[],
  lanes: readonly Opening[],
  { left, gateX }: Columns,
  u: Scale,
): { lines: Line[]; crossings: Crossing[] } {
  const begins = new Map(rows.flatMap((row) => [...endsOf(row.strands, row.y + row.h / 2)]));
  const crossings: Crossing[] = [];
  const lines = lanes.flatMap((lane) => {
    const strands = strandsTo(rows, lane);
    const ends = bundled(strands, lane.middle);
    return strands.map((strand): Line => {
      const from = { x: left + u(6), y: begins.get(strand.id) ?? 0 };
      const to = { x: gateX - (isStopped(lane) ? 1 : 0), y: ends.get(strand.id) ?? 0 };
      if (strand.isRemote) crossings.push({ row: strand.row, from, to });
      return {
        id: strand.id,
        d: curve(from, to),
        width: strand.width,
        tube: strand.isRemote ? strand.width + u(8) : 0,
        look: lane.look,
        part: "inside",
        of: [strand.row, lane.id],
        end: null,
      };
    });
  });
  return { lines, crossings };
}

function isBlocked({ rule, exit }: Lane): boolean {
  return rule === null && !exit.isTunnel && exit.look === "closed";
}

/** Those that lead somewhere. */
function exitsOf<T extends Lane>(lanes: readonly T[]): T[] {
  return lanes.filter((lane) => lane.rule === null && !isBlocked(lane));
}

function rulesOf<T extends Lane>(lanes: readonly T[], { exit }: Lane): T[] {
  return lanes.filter((each) => each.rule !== null && each.exit.id === exit.id);
}

/** Above a tunnel is its sentence. */
const ABOVE = 34;

function tubeOf({ width }: Lane, u: Scale): number {
  return Math.max(u(30), width + u(14));
}

function slotHeight(lane: Lane, lanes: readonly Lane[], { u, isNarrow }: Room): number {
  const under = isNarrow ? u(50) : 0;
  const moving = lane.exit.target === null ? 0 : u(64) + under;
  return u(ABOVE) + tubeOf(lane, u) + rulesOf(lanes, lane).length * u(34) + moving + u(22) + under;
}

interface Outer extends Room, Columns {
  height: number;
  exitsHeight: number;
  blockedHeight: number;
}

/** From the gate to the places. */
function outerLines(lanes: readonly Opening[], outer: Outer): { lines: Line[]; exits: ExitLabel[] } {
  const { u, gateEnd, height, exitsHeight, blockedHeight, width } = outer;
  const lines: Line[] = [];
  const exits: ExitLabel[] = [];
  let top = Math.max(u(4), (height - exitsHeight - blockedHeight) / 2);
  for (const lane of exitsOf(lanes)) {
    const slot = slotOf(lane, lanes, top, outer);
    lines.push(...slot.lines);
    exits.push(slot.label);
    top += slotHeight(lane, lanes, outer);
  }
  const blocked = lanes.find(isBlocked);
  if (blocked === undefined) return { lines, exits };
  const x = gateEnd + u(18);
  const y = Math.max(blocked.middle, top + u(18)) - u(24);
  const rules = rulesOf(lanes, blocked).map((rule) => ({ lane: rule, x, y, w: 0, h: 0 }));
  const place = { x, y: Math.min(y, height - u(48)), w: width - x, h: u(48) };
  return { lines, exits: [...exits, { lane: blocked, sentence: null, place, target: null, rules }] };
}

function slotOf(
  lane: Opening,
  lanes: readonly Opening[],
  top: number,
  { u, isNarrow, width, gateEnd, tubeX }: Outer,
): { lines: Line[]; label: ExitLabel } {
  const tube = lane.width + u(14);
  const placeX = width - u(isNarrow ? 4 : 250);
  const middle = top + u(ABOVE) + tubeOf(lane, u) / 2;
  const end = { x: placeX - tube / 2, y: middle };
  const lines = [leading(lane, { from: { x: gateEnd, y: lane.middle }, tubeX, end, tube })];
  const textAt = (y: number, half: number): Box =>
    isNarrow
      ? { x: tubeX + u(14), y: y + half + u(2), w: width - tubeX - u(14), h: u(46) }
      : { x: placeX + u(22), y: y - u(24), w: width - placeX - u(22), h: u(48) };
  let below = middle + tubeOf(lane, u) / 2 + (isNarrow ? u(50) : 0);
  let target: Box | null = null;
  if (lane.exit.target !== null) {
    const to = below + u(38);
    lines.push(growing(lane, { x: gateEnd, y: lane.y + lane.h - u(7) }, tubeX, { x: placeX - u(8), y: to }));
    target = textAt(to, u(6));
    below = to + u(20) + (isNarrow ? u(50) : 0);
  }
  const rules = rulesOf(lanes, lane).map((rule, at) => {
    const to = below + u(26) + at * u(34);
    const last = { x: placeX - u(isNarrow ? 8 : 24), y: to };
    lines.push(ruled(rule, { x: gateEnd, y: rule.middle }, tubeX, last));
    return { lane: rule, x: tubeX, y: to - u(24), w: placeX - tubeX - u(30), h: u(22) };
  });
  const sentence = {
    x: tubeX,
    y: middle - tubeOf(lane, u) / 2 - u(31),
    w: placeX - tubeX + u(110),
    h: u(26),
  };
  return { lines, label: { lane, sentence, place: textAt(middle, tubeOf(lane, u) / 2), target, rules } };
}

interface Course {
  from: Point;
  tubeX: number;
  end: Point;
  tube: number;
}

function leading(lane: Lane, { from, tubeX, end, tube }: Course): Line {
  const d = `${curve(from, { x: tubeX, y: end.y })}H${round(end.x)}`;
  const isTube = lane.exit.isTunnel;
  return {
    id: lane.id,
    d,
    width: Math.max(lane.width, 1.5),
    tube: isTube ? tube : 0,
    look: lane.look,
    part: "outside",
    of: [lane.id],
    end,
  };
}

function growing(lane: Lane, from: Point, tubeX: number, end: Point): Line {
  const d = `${curve(from, { x: tubeX, y: end.y })}H${round(end.x)}`;
  return {
    id: `${lane.id} moving`,
    d,
    width: 4,
    tube: 0,
    look: "moving",
    part: "outside",
    of: [lane.id],
    end,
  };
}

function ruled(lane: Lane, from: Point, tubeX: number, end: Point): Line {
  const d = `${curve(from, { x: tubeX, y: end.y })}H${round(end.x)}`;
  return {
    id: lane.id,
    d,
    width: 2,
    tube: 0,
    look: "rule",
    part: "outside",
    of: [lane.id, lane.exit.id],
    end,
  };
}

/** Level at both ends. */
function curve(from: Point, to: Point): string {
  const middle = round((from.x + to.x) / 2);
  const [x0, y0, x1, y1] = [from.x, from.y, to.x, to.y].map(round);
  return `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}`;
}

/** Where such a curve meets the lower wall of the house. */
function crossing(from: Point, to: Point, wall: number): Point {
  // The curve's height falls from one end to the other: halving finds it.
  let [low, high] = [0, 1];
  const yAt = (t: number) => from.y + (to.y - from.y) * t * t * (3 - 2 * t);
  for (let step = 0; step < 20; step += 1) {
    const t = (low + high) / 2;
    if (yAt(t) > wall) low = t;
    else high = t;
  }
  const t = (low + high) / 2;
  const xAt = from.x + (to.x - from.x) * (1.5 * t * (1 - t) + t * t * t);
  return { x: xAt, y: wall };
}
