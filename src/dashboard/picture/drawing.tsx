import { type Box, type Line, type Plan, round, type Scale } from "./plan.ts";

interface DrawingProps {
  plan: Plan;
  u: Scale;
  isGated: boolean;
  /** The row or the lane that is looked at; null for none. */
  chosen: string | null;
}

/** The lines, the house and the gate. What they say stands in the labels. */
export function Drawing({ plan, u, isGated, chosen }: DrawingProps) {
  const { width, height, house, gate } = plan;
  const isOf = ({ of }: Line) => chosen === null || of.includes(chosen);
  const inside = plan.lines.filter(({ part }) => part === "inside");
  const outside = plan.lines.filter(({ part }) => part === "outside");
  return (
    <svg class="drawing" width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      <rect class="house" x={house.x} y={house.y} width={house.w} height={house.h} rx={u(14)} />
      {inside.map((line) => (
        <Strand key={line.id} line={line} isPale={!isOf(line)} />
      ))}
      {plan.rings.map((ring) => (
        <circle key={ring.row} class="ring" cx={round(ring.x)} cy={round(ring.y)} r={u(5)} />
      ))}
      {outside.map((line) => (
        <Conduit key={line.id} line={line} u={u} isPale={!isOf(line)} />
      ))}
      <rect
        class={isGated ? "gate" : "gate gone"}
        x={gate.x}
        y={gate.y}
        width={gate.w}
        height={gate.h}
        rx={u(8)}
      />
      {isGated &&
        plan.lanes.map((lane) => (
          <Opening
            key={lane.id}
            lane={lane}
            u={u}
            plan={plan}
            isPale={chosen !== null && !leads(plan, lane, chosen)}
          />
        ))}
      <Emblem plan={plan} u={u} />
    </svg>
  );
}

/** From a row to the gate. */
function Strand({ line, isPale }: { line: Line; isPale: boolean }) {
  return (
    <g class={`line look-${line.look} inside ${isPale ? "pale" : ""}`}>
      {line.tube > 0 && <path class="tube" d={line.d} style={{ strokeWidth: `${round(line.tube)}px` }} />}
      <path d={line.d} style={{ strokeWidth: `${round(line.width)}px` }} />
    </g>
  );
}

/** From the gate to a place. */
function Conduit({ line, u, isPale }: { line: Line; u: Scale; isPale: boolean }) {
  const { look, end, tube } = line;
  const isCarrying = look === "open" && tube > 0;
  return (
    <g class={`line look-${look} ${isPale ? "pale" : ""}`}>
      {tube > 0 && (
        <>
          <path class="wall" d={line.d} style={{ strokeWidth: `${round(tube + 2)}px` }} />
          <path class="tube" d={line.d} style={{ strokeWidth: `${round(tube)}px` }} />
        </>
      )}
      {look !== "closed" && <path d={line.d} style={{ strokeWidth: `${round(line.width)}px` }} />}
      {isCarrying && (
        <path
          class="streak"
          d={line.d}
          style={{ strokeWidth: `${round(Math.max(1.5, line.width / 8))}px` }}
        />
      )}
      {end !== null && <End look={look} x={end.x} y={end.y} u={u} />}
    </g>
  );
}

/** A place, or a cross where nothing comes back. */
function End({ look, x, y, u }: { look: Line["look"]; x: number; y: number; u: Scale }) {
  if (look === "rule") return <circle class="mark" cx={round(x)} cy={round(y)} r={u(4)} />;
  if (look === "open" || look === "direct" || look === "moving")
    return <circle class="mark" cx={round(x)} cy={round(y)} r={u(6)} />;
  const [left, top, size] = [round(x) - u(6), round(y) - u(6), u(12)];
  return <path class="cross" d={`M${left} ${top}l${size} ${size}m0 ${-size}l${-size} ${size}`} />;
}

const TEETH = 4;
const BARS = 5;

interface OpeningProps {
  lane: Plan["lanes"][number];
  plan: Plan;
  u: Scale;
  isPale: boolean;
}

/** A hole with the teeth of the portcullis above what goes through; bars if nothing leaves. */
function Opening({ lane, plan, u, isPale }: OpeningProps) {
  const { x, y, w, h } = lane;
  const isDown = plan.shape === "down";
  const hole = <rect class="hole" x={x} y={y} width={w} height={h} />;
  if (lane.look === "closed")
    return (
      <g class="closed">
        {hole}
        <path class="bars" d={barsOf(lane)} style={{ strokeWidth: `${u(2)}px` }} />
      </g>
    );
  const through = plan.lines.find(({ id }) => id === lane.id);
  const { middle } = lane;
  return (
    <g class={`open line look-${lane.rule === null ? lane.look : "rule"} ${isPale ? "pale" : ""}`}>
      {hole}
      {lane.rule === null && (
        <path class="teeth" d={teethOf(lane, u(5), isDown)} style={{ strokeWidth: `${u(3)}px` }} />
      )}
      <path
        class="through"
        d={isDown ? `M${round(middle)} ${y}v${h}` : `M${x} ${round(middle)}h${w}`}
        style={{ strokeWidth: `${round(through?.width ?? 0)}px` }}
      />
    </g>
  );
}

function leads({ rows }: Plan, { id, exit }: Plan["lanes"][number], chosen: string): boolean {
  const row = rows.find((each) => each.id === chosen);
  return row === undefined
    ? chosen === id || chosen === exit.id
    : row.strands.some(({ lane }) => lane === id);
}

function barsOf({ x, y, w, h }: Box): string {
  const upright = steps(BARS, w).map((at) => `M${round(x + at)} ${round(y)}v${round(h)}`);
  const level = steps(Math.max(1, Math.round((h / w) * BARS)), h).map(
    (at) => `M${round(x)} ${round(y + at)}h${round(w)}`,
  );
  return [...upright, ...level].join("");
}

function teethOf({ x, y, w, h }: Box, length: number, isDown: boolean): string {
  return steps(TEETH, isDown ? h : w)
    .map((at) =>
      isDown ? `M${round(x)} ${round(y + at)}h${length}` : `M${round(x + at)} ${round(y)}v${length}`,
    )
    .join("");
}

/** So many places, evenly between the ends. */
function steps(count: number, length: number): number[] {
  return Array.from({ length: count }, (_, at) => (length * (at + 0.5)) / count);
}

/** The sign of the product, at the head of the gate. */
function Emblem({ plan: { gate, shape }, u }: { plan: Plan; u: Scale }) {
  const size = u(22);
  const x = shape === "down" ? gate.x + u(8) : gate.x + (gate.w - size) / 2;
  const y = shape === "down" ? gate.y + (gate.h - size) / 2 : gate.y + u(8);
  return (
    <path
      class="emblem"
      transform={`translate(${round(x)} ${round(y)}) scale(${round(size / 24)})`}
      d="M4 21V10a8 8 0 0 1 16 0v11M8 4v17M12 2v19M16 4v17M4 11h16M4 16h16"
    />
  );
}
