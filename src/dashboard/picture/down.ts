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
  round,
  type Scale,
  stacked,
  strandsTo,
  sumOf,
} from "./plan.ts";

interface Room {
  width: number;
  u: Scale;
  /** Lines are thin. */
  isTight: boolean;
}

/** Devices above, the gate in the lower wall of the house, places below. */
export function downPlan({ rows, lanes }: Model, room: Room): Plan {
  const { width, u, isTight } = room;
  const inside = rows.filter(({ isRemote }) => !isRemote);
  const remote = rows.filter(({ isRemote }) => isRemote);
  const strands = rows.flatMap((row) => row.strands);
  const tracks = sumOf(strands, (each) => each.width + (isTight ? 1 : 2));
  const textWidth = width - u(14) - tracks;
  const label = { x: u(2), w: textWidth - u(2) };
  const away = stacked(remote, { ...label, y: u(2) }, u);
  const houseY = remote.length === 0 ? 0 : sumOf(away, ({ h }) => h) + u(10);
  const home = stacked(inside, { ...label, y: houseY + u(36) }, u);
  const rowsEnd = houseY + u(36) + sumOf(home, ({ h }) => h);

  const gate = gateOf(lanes, { ...room, tracks, y: rowsEnd + u(50) });
  const openings = openingsIn(gate, lanes, u);
  const placed = [...away, ...home];
  const inner = innerLines(placed, openings, { ...room, textWidth, rowsEnd, gateY: gate.y, houseY });
  const outer = outerLines(openings, gate, room);
  return {
    shape: "down",
    width,
    height: outer.end + u(6),
    house: { x: 0.5, y: houseY + 0.5, w: width - 1, h: gate.y + gate.h / 2 - houseY },
    gate,
    gateLabel: { x: gate.x - u(10), y: gate.y + u(2) },
    rows: placed,
    lanes: openings,
    lines: [...inner.lines, ...outer.lines],
    exits: outer.exits,
    rings: inner.rings,
  };
}

/** Of the gate, beside its openings. */
const HEAD = 38;
const GATE_HEIGHT = 54;

function openingOf(lane: Lane, u: Scale): number {
  return openingSize(lane, u(26), u);
}

function gateOf(lanes: readonly Lane[], at: Room & { tracks: number; y: number }): Box {
  const { u, width } = at;
  const w = u(HEAD + 4) + sumOf(lanes, (lane) => openingOf(lane, u) + gapAfter(lane, u));
  const x = Math.round(Math.min(width - u(12) - w, width - at.tracks / 2 - w / 2));
  return { x, y: at.y, w, h: u(GATE_HEIGHT) };
}

/** From right to left, so that no two lines have to cross. */
function openingsIn(gate: Box, lanes: readonly Lane[], u: Scale): Opening[] {
  let x = gate.x + gate.w - u(4);
  return lanes.map((lane) => {
    const w = openingOf(lane, u);
    x -= w;
    const moving = movingSize(lane, u);
    const middle = x + moving + (w - moving) / 2;
    const placed = { ...lane, x, y: gate.y, w, h: gate.h, middle };
    x -= gapAfter(lane, u);
    return placed;
  });
}

interface Inner extends Room {
  textWidth: number;
  rowsEnd: number;
  gateY: number;
  houseY: number;
}

/** From the devices to the gate: the upper row takes the outer track. */
function innerLines(rows: readonly (Row & Box)[], lanes: readonly Opening[], inner: Inner) {
  const { u, width, isTight, textWidth, rowsEnd, gateY, houseY } = inner;
  const ends = new Map(lanes.flatMap((lane) => [...bundled(strandsTo(rows, lane), lane.middle, -1)]));
  const rings: { row: string; x: number; y: number }[] = [];
  const lines: Line[] = [];
  let track = width - u(8);
  for (const row of rows) {
    const begins = endsOf(row.strands, row.y + row.h / 2);
    for (const { id, lane: to, width: w, look, isRemote } of row.strands) {
      const x = track - w / 2;
      track -= w + (isTight ? 1 : 2);
      if (isRemote) rings.push({ row: row.id, x, y: houseY });
      const from = textWidth + u(4);
      const bend = Math.max(u(8), w / 2 + 2);
      const y = begins.get(id) ?? 0;
      const end = gateY - (isStopped({ look }) ? 1 : 0);
      const half = (rowsEnd + end) / 2;
      const at = ends.get(id) ?? 0;
      const corner = `H${round(Math.max(from, x - bend))}Q${round(x)} ${round(y)} ${round(x)} ${round(y + bend)}V${round(rowsEnd)}`;
      const funnel = `C${round(x)} ${round(half)} ${round(at)} ${round(half)} ${round(at)} ${round(end)}`;
      lines.push({
        id,
        d: `M${round(from)} ${round(y)}${corner}${funnel}`,
        width: w,
        tube: isRemote ? w + u(6) : 0,
        look,
        part: "inside",
        of: [row.id, to],
        end: null,
      });
    }
  }
  return { lines, rings };
}

interface Track {
  lane: Opening;
  /** Where it leaves the gate, turns, and goes down. */
  from: number;
  turn: number;
  x: number;
  tube: number;
  isMoving: boolean;
}

/** From the gate to the left and down: the first exit takes the inner track and the lowest turn. */
function outerLines(lanes: readonly Opening[], gate: Box, { u, width, isTight }: Room) {
  const { tracks, textX, turnsEnd } = tracksOf(lanes, gate, { u, width, isTight });
  const lines: Line[] = [];
  const exits: ExitLabel[] = [];
  const lineTo = (track: Track, y: number, look: Line["look"], lineWidth: number) => {
    const bend = Math.max(u(isTight ? 7 : 10), track.tube / 2 + u(isTight ? 2 : 4));
    const endX = Math.max(textX - u(10) - track.tube / 2, track.x + bend);
    lines.push({
      id: track.isMoving ? `${track.lane.id} moving` : track.lane.id,
      d: pipe(track, { bend, gateEnd: gate.y + gate.h, to: y, endX }),
      width: lineWidth,
      tube: look === "rule" || look === "moving" || !track.lane.exit.isTunnel ? 0 : track.tube,
      look,
      part: "outside",
      of: [track.lane.id, track.lane.exit.id],
      end: { x: endX, y },
    });
  };
  const trackOf = (lane: Lane, isMoving = false) =>
    tracks.find((each) => each.lane.id === lane.id && each.isMoving === isMoving);
  const text = (y: number, h: number): Box => ({ x: textX, y, w: width - textX, h: u(h) });
  let top = turnsEnd + u(18);
  for (const lane of lanes.filter(({ rule }) => rule === null)) {
    const track = trackOf(lane);
    const rules = lanes.filter((each) => each.rule !== null && each.exit.id === lane.exit.id);
    if (track === undefined) {
      exits.push({ lane, sentence: null, place: text(top + u(6), 48), target: null, rules: [] });
      top += u(62);
      continue;
    }
    lineTo(track, top + u(34), lane.look, Math.max(1.5, lane.width));
    const label: ExitLabel = {
      lane,
      sentence: text(top, 22),
      place: text(top + u(22), 46),
      target: null,
      rules: [],
    };
    top += u(76);
    const moving = trackOf(lane, true);
    if (moving !== undefined) {
      lineTo(moving, top + u(12), "moving", 4);
      label.target = text(top, 46);
      top += u(54);
    }
    label.rules = rules.map((rule) => {
      const own = trackOf(rule);
      if (own !== undefined) lineTo(own, top + u(12), "rule", 2);
      const box = { lane: rule, ...text(top, 24) };
      top += u(38);
      return box;
    });
    exits.push(label);
  }
  return { lines, exits, end: top };
}

function tracksOf(lanes: readonly Opening[], gate: Box, { u, isTight }: Room) {
  const tracks: Track[] = [];
  let x = u(8);
  let turn = gate.y + gate.h + u(14);
  const leading = lanes.filter(({ exit }) => exit.isTunnel || exit.look !== "closed").toReversed();
  for (const lane of leading) {
    if (lane.rule === null && lane.exit.target !== null) {
      tracks.push({ lane, from: lane.x + u(7), turn: turn + u(3), x: x + u(3), tube: 4, isMoving: true });
      x += u(14);
      turn += u(14);
    }
    const tube = lane.rule === null ? lane.width + u(isTight ? 6 : 8) : 0;
    const size = lane.rule === null ? tube + 2 : u(6);
    const from = lane.middle;
    tracks.push({ lane, from, turn: turn + size / 2, x: x + size / 2, tube, isMoving: false });
    x += size + u(isTight ? 3 : 5);
    turn += size + u(5);
  }
  return { tracks, textX: x + u(isTight ? 18 : 24), turnsEnd: turn };
}

function pipe(
  { from, turn, x }: Track,
  at: { bend: number; gateEnd: number; to: number; endX: number },
): string {
  const { bend, gateEnd, to, endX } = at;
  const [f, t, d, y, k] = [from, turn, x, to, bend].map(round) as [number, number, number, number, number];
  return [
    `M${f} ${round(gateEnd)}V${round(t - k)}`,
    `Q${f} ${t} ${round(f - k)} ${t}H${round(d + k)}`,
    `Q${d} ${t} ${d} ${round(t + k)}V${round(y - k)}`,
    `Q${d} ${y} ${round(d + k)} ${y}H${round(endX)}`,
  ].join("");
}
