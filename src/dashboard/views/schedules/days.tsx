import { useContext, useId } from "preact/hooks";
import type { Day } from "../../../schedules/schema.ts";
import { say, WORDS } from "../../language.ts";
import { FaultText } from "../../parts/form.tsx";
import { FormLacks } from "../../parts/lacks.ts";
import { DAYS } from "../../schedule.ts";

const DAY_MS = 86_400_000;
/** In days since 1970. */
const FIRST_MONDAY = 4;
const SHORT = new Intl.DateTimeFormat(WORDS, { weekday: "short", timeZone: "UTC" });

interface DaysProps {
  /** "from 20:00 to 23:00" begins on these days. */
  value: readonly Day[];
  onValue: (days: Day[]) => void;
  fault: string | null;
}

/** Days of the week, to be ticked. */
export function Days({ value, onValue, ...props }: DaysProps) {
  const id = useId();
  const fault = useContext(FormLacks).get("days") ?? props.fault;
  const toggle = (day: Day, isOn: boolean) =>
    onValue(DAYS.map(([each]) => each).filter((each) => (each === day ? isOn : value.includes(each))));
  return (
    <fieldset class="field week" aria-describedby={fault === null ? undefined : id}>
      <legend>{say("Days on which it begins")}</legend>
      <div class="choices">
        {DAYS.map(([day, name], at) => (
          <label key={day} class="day-choice">
            <input
              type="checkbox"
              name="days"
              checked={value.includes(day)}
              aria-label={name}
              // Before the form draws it again, which takes its faults away at this event.
              onInput={({ currentTarget }) => toggle(day, currentTarget.checked)}
            />
            {SHORT.format((at + FIRST_MONDAY) * DAY_MS)}
          </label>
        ))}
      </div>
      <FaultText id={id} text={fault} />
    </fieldset>
  );
}
