import { useState } from "preact/hooks";
import type { Device } from "../../../devices/schema.ts";
import { refresh } from "../../answers.ts";
import { change } from "../../api.ts";
import { titleOf } from "../../exit.ts";
import { say } from "../../language.ts";
import { devicePath } from "../../parts/device-exit.tsx";
import { Field, Form } from "../../parts/form.tsx";

/** How fast a device may be each way. */
export function LimitForm({ device }: { device: Device }) {
  const [down, setDown] = useState(textOf(device.rate?.down));
  const [up, setUp] = useState(textOf(device.rate?.up));
  const save = async () => {
    const rate = { down: megabitsOf(down), up: megabitsOf(up) };
    const isFree = rate.down === null && rate.up === null;
    await change("PUT", devicePath(device), { rate: isFree ? null : rate });
    await refresh("devices");
  };
  const field = { type: "number", min: 0.1, max: 10_000, step: "any" } as const;
  return (
    <Form work={save} submit={say("Save the limit")} doing={say("Saving…")}>
      <Field
        {...field}
        label={say("{device} receives at most, in Mbit/s", { device: titleOf(device) })}
        value={down}
        onValue={setDown}
      />
      <Field
        {...field}
        label={say("{device} sends at most, in Mbit/s", { device: titleOf(device) })}
        hint={say("Empty means no limit.")}
        value={up}
        onValue={setUp}
      />
    </Form>
  );
}

function textOf(megabits: number | null | undefined): string {
  return megabits == null ? "" : String(megabits);
}

function megabitsOf(text: string): number | null {
  return text === "" ? null : Number(text);
}
