import { useState } from "preact/hooks";
import type { Device, DeviceList, Rate } from "../../../devices/schema.ts";
import { type Action, useAction } from "../../action.ts";
import { refresh } from "../../answers.ts";
import { change } from "../../api.ts";
import { titleOf } from "../../exit.ts";
import { say } from "../../language.ts";
import { limitText } from "../../limit.ts";
import { devicePath } from "../../parts/device-exit.tsx";
import { Field, Form } from "../../parts/form.tsx";

/** How fast a device may be each way. */
export function LimitForm({ device }: { device: Device }) {
  const title = titleOf(device);
  const action = useAction();
  return (
    <RateForm
      key={keyOf(device.rate)}
      action={action}
      rate={device.rate}
      down={say("{device} receives at most, in Mbit/s", { device: title })}
      up={say("{device} sends at most, in Mbit/s", { device: title })}
      save={(rate) => change("PUT", devicePath(device), { rate })}
    />
  );
}

/** What everybody else shares. */
export function SharedLimit({ list: { shared_rate: rate } }: { list: DeviceList }) {
  const action = useAction();
  return (
    <section class="card words">
      <h2>{say("Limit of all others")}</h2>
      <p class="quiet">
        {say("What devices without a limit of their own receive and send together.")}{" "}
        {rate === undefined ? say("They have no limit.") : limitText(rate)}
      </p>
      <RateForm
        key={keyOf(rate)}
        action={action}
        rate={rate}
        down={say("All others receive at most, in Mbit/s")}
        up={say("All others send at most, in Mbit/s")}
        save={(changed) => change("PUT", "shared-rate", { rate: changed })}
      />
    </section>
  );
}

interface RateFormProps {
  rate: Rate | undefined;
  /** Its outcome outlives the form. */
  action: Action;
  /** What the fields are called. */
  down: string;
  up: string;
  save: (rate: Rate | null) => Promise<unknown>;
}

function RateForm({ rate, action, save, ...labels }: RateFormProps) {
  const [down, setDown] = useState(textOf(rate?.down));
  const [up, setUp] = useState(textOf(rate?.up));
  const work = async () => {
    const chosen = { down: megabitsOf(down), up: megabitsOf(up) };
    await save(chosen.down === null && chosen.up === null ? null : chosen);
    await refresh("devices");
  };
  const field = { type: "number", min: 0.1, max: 10_000, step: "any" } as const;
  return (
    <Form action={action} work={work} submit={say("Save the limit")} doing={say("Saving…")}>
      <Field {...field} label={labels.down} value={down} onValue={setDown} />
      <Field {...field} label={labels.up} hint={say("Empty means no limit.")} value={up} onValue={setUp} />
    </Form>
  );
}

/** A limit that has changed gets a new form: a field that still had the former one would set it again. */
function keyOf(rate: Rate | undefined): string {
  return `${textOf(rate?.down)} ${textOf(rate?.up)}`;
}

function textOf(megabits: number | null | undefined): string {
  return megabits == null ? "" : String(megabits);
}

function megabitsOf(text: string): number | null {
  return text === "" ? null : Number(text);
}
