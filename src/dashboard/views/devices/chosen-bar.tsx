import { useId, useState } from "preact/hooks";
import type { Device, DeviceList } from "../../../devices/schema.ts";
import { isOutside } from "../../../shared/exits.ts";
import { useMayChange } from "../../access.ts";
import { useAction } from "../../action.ts";
import { knownOf, refresh, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { titleOf } from "../../exit.ts";
import { someOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Button, Outcome } from "../../parts/button.tsx";
import { defaultText, devicePath } from "../../parts/device-exit.tsx";
import type { Question } from "../../parts/dialog.tsx";
import { Options } from "../../parts/options.tsx";
import { pause, pausesAt } from "../../pause.ts";
import { useExits } from "../../protection.ts";
import { MINUTE_MS, useMinute } from "../../traffic.ts";
import { changeAll } from "./several.ts";

/** More names than this are counted. */
const MAX_NAMES = 4;
/** The option for no exit of their own; no tunnel has this name. */
const DEFAULT = "";
/** Those of a pause begin with it, and are numbered. */
const PAUSE = "pause ";

interface ChosenBarProps {
  list: DeviceList;
  chosen: readonly Device[];
  onClose: () => void;
}

/** One exit for all devices that are chosen, or a pause. */
export function ChosenBar({ list, chosen, onClose }: ChosenBarProps) {
  const id = useId();
  const action = useAction();
  const exitOf = useExits();
  const [value, setValue] = useState(DEFAULT);
  const mayChange = useMayChange();
  const options = [
    { value: DEFAULT, text: defaultText(exitOf(list.default_exit)) },
    ...list.exits
      .filter((each) => !isOutside(each))
      .map((each) => ({ value: each, text: exitOf(each).text })),
  ];
  const pauses = pausesAt(useMinute() * MINUTE_MS, knownOf(useAnswer("schedules"))?.time_zone ?? "");
  const chosenPause = pauses.find((_, at) => value === `${PAUSE}${at}`);
  const name = options.find((each) => each.value === value)?.text ?? value;
  const ask = chosenPause === undefined ? questionAbout(chosen) : null;
  const work = async () => {
    try {
      return await (chosenPause === undefined
        ? giveAll(chosen, value === DEFAULT ? null : value, name)
        : pauseAll(chosen, chosenPause.once));
    } finally {
      void refresh("devices");
      void refresh("schedules");
    }
  };
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
        value={value}
        onChange={({ currentTarget }) => setValue(currentTarget.value)}
      >
        <Options
          of={[...options, ...pauses.map(({ text }, at) => ({ value: `${PAUSE}${at}`, text }))]}
          value={value}
        />
      </select>
      {chosen.length > 0 && (
        <Button kind="primary" action={action} doing={say("Saving…")} work={work} {...(ask && { ask })}>
          {chosenPause === undefined ? say("Give them this exit") : say("Pause them")}
        </Button>
      )}
      <button type="button" class="button plain" onClick={onClose}>
        {say("Close")}
      </button>
      <Outcome of={action} />
    </section>
  );
}

function giveAll(devices: readonly Device[], exit: string | null, name: string): Promise<string> {
  return changeAll(
    devices,
    (device) => change("PUT", devicePath(device), { exit }),
    (count) =>
      say(
        "{count, plural, =0 {No device was changed.} one {# device now has this exit: {exit}.} other {# devices now have this exit: {exit}.}}",
        { count, exit: name },
      ),
  );
}

function pauseAll(devices: readonly Device[], once: Parameters<typeof pause>[1]): Promise<string> {
  return changeAll(
    devices,
    (device) => pause(device, once),
    (count) =>
      say(
        "{count, plural, =0 {No device is paused.} one {# device is paused.} other {# devices are paused.}}",
        { count },
      ),
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
