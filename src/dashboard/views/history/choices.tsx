import type { HistoryPage } from "../../../history/schema.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { say } from "../../language.ts";
import { LOOKS, type Span, type Subject } from "./span.ts";

interface ChoicesProps {
  span: Span;
  onSpan: (span: Span) => void;
  whose: Subject;
  onWhose: (whose: Subject) => void;
  page: HistoryPage | null;
  /** Names of devices, by id. */
  names: ReadonlyMap<string, string>;
}

/** Which time, and whose traffic. */
export function Choices({ span, onSpan, whose, onWhose, page, names }: ChoicesProps) {
  const rows = knownOf(useAnswer("tunnels"))?.tunnels ?? [];
  const [kind, own = ""] = whose.split(" ", 2);
  const withOwn = (of: string, others: readonly string[]) => [
    ...new Set([...others, ...(kind === of ? [own] : [])]),
  ];
  const tunnels = withOwn(
    "tunnel",
    [...rows, ...(page?.tunnels ?? [])].map(({ name }) => name),
  );
  const devices = withOwn("device", [...names.keys(), ...(page?.devices ?? []).map(({ id }) => id)]);
  const groups = [
    {
      kind: "tunnel",
      label: say("Tunnels"),
      options: tunnels.map((name) => ({
        name,
        text: say("{tunnel, select, main {Main tunnel} other {Tunnel {tunnel}}}", { tunnel: name }),
      })),
    },
    {
      kind: "device",
      label: say("Devices"),
      options: devices
        .map((name) => ({ name, text: names.get(name) ?? name }))
        .toSorted((one, two) => one.text.localeCompare(two.text)),
    },
  ];
  return (
    <div class="history-choices">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out in a line */}
      <div role="group" aria-label={say("Period")} class="choices">
        {(Object.keys(LOOKS) as Span[]).map((each) => (
          <button
            key={each}
            type="button"
            class="chip"
            aria-pressed={each === span}
            onClick={() => onSpan(each)}
          >
            {LOOKS[each].title}
          </button>
        ))}
      </div>
      <select
        class="input"
        aria-label={say("Whose traffic")}
        value={whose}
        onChange={({ currentTarget }) => onWhose(currentTarget.value as Subject)}
      >
        <option value="all">{say("All tunnels")}</option>
        <option value="uplink" selected={whose === "uplink"}>
          {say("Uplink")}
        </option>
        {groups.map(({ kind: each, label, options }) => (
          <optgroup key={each} label={label}>
            {options.map(({ name, text }) => (
              <option key={name} value={`${each} ${name}`} selected={whose === `${each} ${name}`}>
                {text}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </div>
  );
}
