import type { ButtonHTMLAttributes, CSSProperties } from "preact";
import { bitRateOf, someOf } from "../format.ts";
import { say } from "../language.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import type { Gate, HomeNow } from "./home-now.ts";
import type { Lane, Row } from "./model.ts";
import type { Box, ExitLabel, Plan } from "./plan.ts";
import { exitSentence, laneTitle, rowSentence, stoppedText } from "./sentences.ts";

const GATES: Readonly<Record<Gate, { tone: string; text: string }>> = {
  whole: { tone: "tone-protected", text: say("kill switch on") },
  weakened: { tone: "tone-partly", text: say("one layer is missing") },
  gone: { tone: "tone-exposed", text: say("kill switch not in place") },
};

/** Of the devices of a folded group, so many have their icon. */
const MAX_ICONS: Readonly<Record<Plan["shape"], number>> = { down: 3, narrow: 3, across: 5 };

interface LabelsProps {
  home: HomeNow;
  plan: Plan;
  chosen: string | null;
  onChosen: (id: string | null) => void;
  onOpen: (group: string) => void;
  onDevice: (id: string) => void;
}

/** What stands in the picture, in the order in which it is read: devices, the gate, exits. */
export function Labels({ home, plan, chosen, onChosen, onOpen, onDevice }: LabelsProps) {
  const exits = new Map(home.exits.map((each) => [each.id, each]));
  const look = (id: string) => ({
    onMouseEnter: () => onChosen(id),
    onMouseLeave: () => onChosen(null),
    onFocus: () => onChosen(id),
    onBlur: () => onChosen(null),
  });
  return (
    <>
      <h3 class="hidden">{say("Devices")}</h3>
      <ul>
        {plan.rows.map((row) => (
          <li key={row.id}>
            <RowLabel
              row={row}
              icons={MAX_ICONS[plan.shape]}
              sentence={rowSentence(row, exits)}
              isPale={chosen !== null && !isOf(row, chosen)}
              look={look(row.id)}
              onClick={() => (row.isGroup ? onOpen : onDevice)(row.id)}
            />
          </li>
        ))}
      </ul>
      <p class="gate-label" style={placed(gateBox(plan))}>
        <strong>{say("Gateway")}</strong>
        <span class={GATES[home.gate].tone}>{GATES[home.gate].text}</span>
      </p>
      <h3 class="hidden">{say("Exits")}</h3>
      <ul>
        {plan.exits.map((exit) => (
          <li key={exit.lane.id} class={chosen === null || isFor(plan, exit, chosen) ? "" : "pale"}>
            <button type="button" class="exit-label" {...look(exit.lane.id)}>
              <span class="hidden">{exitSentence(exit.lane)}</span>
              <ExitTexts label={exit} home={home} />
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

function isOf({ id, strands }: Row, chosen: string): boolean {
  return id === chosen || strands.some(({ lane }) => lane === chosen);
}

function isFor({ rows }: Plan, { lane }: ExitLabel, chosen: string): boolean {
  const row = rows.find(({ id }) => id === chosen);
  return row === undefined ? chosen === lane.id : row.strands.some((each) => each.lane === lane.id);
}

function gateBox({ gateLabel: { x, y }, shape, rows }: Plan): Box {
  const half = 130;
  return shape === "down" ? { x: rows[0]?.x ?? 0, y, w: x, h: 44 } : { x: x - half, y, w: 2 * half, h: 44 };
}

function placed({ x, y, w, h }: Box): CSSProperties {
  return { left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${h}px` };
}

interface RowLabelProps {
  row: Row & Box;
  icons: number;
  sentence: string;
  isPale: boolean;
  look: ButtonHTMLAttributes<HTMLButtonElement>;
  onClick: () => void;
}

function RowLabel({ row, icons, sentence, isPale, look, onClick }: RowLabelProps) {
  const [device] = row.devices;
  const stopped = row.strands.length > 0 && row.strands.every((each) => each.look === "closed");
  const isIdle = row.rate === 0 || row.isOpen;
  return (
    <button
      type="button"
      class={`row-label ${row.isInner ? "inner" : ""} ${isPale ? "pale" : ""}`}
      style={placed(row)}
      aria-expanded={row.isGroup ? row.isOpen : undefined}
      aria-haspopup={row.isGroup ? undefined : "dialog"}
      onClick={onClick}
      {...look}
    >
      <Icon name={iconOf(row)} />
      <span class="row-who">
        <span class="row-title">
          <strong>{row.title}</strong> {row.isGroup && <span class="row-count">{row.devices.length}</span>}
        </span>
        {row.isGroup && !row.isOpen && <Kinds row={row} most={icons} />}
        {!row.isGroup && device?.isOnline === false && (
          <span class="quiet small">{say("not heard lately")}</span>
        )}
      </span>
      <span class={`row-rate small ${stopped ? "tone-blocked" : "quiet"}`}>
        {stopped ? say("blocked") : isIdle ? "" : bitRateOf(row.rate)}
      </span>
      <span class="hidden">{sentence}</span>
    </button>
  );
}

function iconOf({ isGroup, isRemote, devices }: Row): IconName {
  return isGroup ? (isRemote ? "phone" : "home") : (devices[0]?.icon ?? "other");
}

function Kinds({ row: { devices }, most }: { row: Row; most: number }) {
  const more = devices.length - most;
  return (
    <span class="kinds quiet small" aria-hidden="true">
      {devices.slice(0, most).map(({ id, icon, isOnline }) => (
        <span key={id} class={isOnline ? "" : "pale"}>
          <Icon name={icon} />
        </span>
      ))}
      {more > 0 && `+${more}`}
    </span>
  );
}

function ExitTexts({
  label: { lane, sentence, place, target, rules },
  home,
}: {
  label: ExitLabel;
  home: HomeNow;
}) {
  const { exit } = lane;
  return (
    <>
      {sentence !== null && (
        <span class="sentence-label" style={placed(sentence)} aria-hidden="true">
          {laneTitle(lane)}
        </span>
      )}
      <span class="place-label" style={placed(place)} aria-hidden="true">
        {sentence === null ? <Stopped lane={lane} home={home} /> : <Where lane={lane} />}
      </span>
      {target !== null && (
        <span class="place-label" style={placed(target)}>
          <strong>{exit.target}</strong>
          <span class="quiet small">{say("being tried")}</span>
        </span>
      )}
      {rules.map(({ lane: { id, rule }, ...box }) => (
        <span key={id} class="rule-label small" style={placed(box)}>
          {rule?.title}
        </span>
      ))}
    </>
  );
}

function Where({ lane }: { lane: Lane }) {
  const { look, exit } = lane;
  const { rate } = exit;
  return (
    <>
      <strong>{placeText(lane)}</strong>
      {look === "silent" && <span class="small tone-exposed">{say("carries no data")}</span>}
      {look === "open" && rate !== null && rate.down + rate.up > 0 && (
        <span class="quiet small">
          ↓ {bitRateOf(rate.down)} ↑ {bitRateOf(rate.up)}
        </span>
      )}
    </>
  );
}

function placeText({ look, exit }: Lane): string {
  switch (look) {
    case "open":
    case "silent":
      return exit.place;
    case "closed":
      return say("{exit} is not connected", { exit: exit.name });
    case "direct":
    case "outside":
      return say("Outside every tunnel");
  }
}

function Stopped({ lane, home }: { lane: Lane; home: HomeNow }) {
  const names = home.devices.filter(({ exit }) => exit === lane.exit.id).map(({ title }) => title);
  return (
    <>
      <strong>{stoppedText(lane.count)}</strong>
      <span class="quiet small">{someOf(names, 3)}</span>
    </>
  );
}
