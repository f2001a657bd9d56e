import { useId, useState } from "preact/hooks";
import type { Device, DeviceList } from "../../../devices/schema.ts";
import { isOutside } from "../../../shared/exits.ts";
import { useMayChange } from "../../access.ts";
import { useAction } from "../../action.ts";
import { titleOf } from "../../exit.ts";
import { someOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Button, Outcome } from "../../parts/button.tsx";
import { defaultText } from "../../parts/device-exit.tsx";
import type { Question } from "../../parts/dialog.tsx";
import { Options } from "../../parts/options.tsx";
import { useExits } from "../../protection.ts";
import { giveAll } from "./several.ts";

/** More names than this are counted. */
const MAX_NAMES = 4;
/** The option for no exit of their own; no tunnel has this name. */
const DEFAULT = "";

interface ChosenBarProps {
  list: DeviceList;
  chosen: readonly Device[];
  onClose: () => void;
}

/** One exit for all devices that are chosen. */
export function ChosenBar({ list, chosen, onClose }: ChosenBarProps) {
  const id = useId();
  const action = useAction();
  const exitOf = useExits();
  const [exit, setExit] = useState(DEFAULT);
  const mayChange = useMayChange();
  const options = [
    { value: DEFAULT, text: defaultText(exitOf(list.default_exit)) },
    ...list.exits
      .filter((each) => !isOutside(each))
      .map((each) => ({ value: each, text: exitOf(each).text })),
  ];
  const name = options.find(({ value }) => value === exit)?.text ?? exit;
  const ask = questionAbout(chosen);
  return (
    <section class="chosen-bar" aria-label={say("Chosen devices")}>
      <label for={id}>
        {say("{count, plural, =0 {Choose devices} one {# device chosen} other {# devices chosen}}", {
          count: chosen.length,
        })}
      </label>
      <select
        id={id}
        class="input"
        disabled={!mayChange}
        value={exit}
        onChange={({ currentTarget }) => setExit(currentTarget.value)}
      >
        <Options of={options} value={exit} />
      </select>
      {chosen.length > 0 && (
        <Button
          kind="primary"
          action={action}
          doing={say("Saving…")}
          work={() => giveAll(chosen, exit === DEFAULT ? null : exit, name)}
          {...(ask && { ask })}
        >
          {say("Give them this exit")}
        </Button>
      )}
      <button type="button" class="button plain" onClick={onClose}>
        {say("Close")}
      </button>
      <Outcome of={action} />
    </section>
  );
}

/** Asked if one of them has several exits in order, which one exit replaces. */
function questionAbout(chosen: readonly Device[]): Question | null {
  const ordered = chosen.filter(({ exit_order }) => exit_order !== undefined).map(titleOf);
  if (ordered.length === 0) return null;
  return {
    title: say("Replace orders of exits?"),
    text: say("{names} have several exits in order. This one replaces them.", {
      names: someOf(ordered, MAX_NAMES),
    }),
    confirm: say("Replace them"),
  };
}
