import { useContext, useId } from "preact/hooks";
import type { Day } from "../../../schedules/schema.ts";
import { wordsIn } from "../../destination.ts";
import { WORDS } from "../../language.ts";
import { FaultText } from "../../parts/field.tsx";
import type { Drawn } from "../../parts/form.tsx";
import { FormLacks } from "../../parts/lacks.ts";
import { DAYS } from "../../schedule.ts";

const DAY_MS = 86_400_000;
/** In days since 1970. */
const FIRST_MONDAY = 4;
const SHORT = new Intl.DateTimeFormat(WORDS, { weekday: "short", timeZone: "UTC" });

/** Days of the week, to be ticked: "from 20:00 to 23:00" begins on them. */
export function Days({ label, value, onValue, ...props }: Drawn) {
  const id = useId();
  const fault = useContext(FormLacks).get("days") ?? props.fault;
  const chosen = wordsIn(value);
  const toggle = (day: Day, isOn: boolean) => {
    const days = DAYS.map(([each]) => each).filter((each) => (each === day ? isOn : chosen.includes(each)));
    onValue(days.join(" "));
  };
  return (
    <fieldset class="field week" aria-describedby={fault === null ? undefined : id}>
      <legend>{label}</legend>
      <div class="choices">
        {DAYS.map(([day, name], at) => (
          <label key={day} class="day-choice">
            <input
              type="checkbox"
              name="days"
              checked={chosen.includes(day)}
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
