import { useState } from "preact/hooks";
import type { Device } from "../../../devices/schema.ts";
import { useAction } from "../../action.ts";
import { refresh } from "../../answers.ts";
import { change } from "../../api.ts";
import { titleOf } from "../../exit.ts";
import { say } from "../../language.ts";
import { devicePath } from "../../parts/device-exit.tsx";
import { Field, Form, Select } from "../../parts/form.tsx";

/** How much a device may send and receive until it is blocked. */
export function QuotaForm({ device }: { device: Device }) {
  const { quota } = device;
  const [megabytes, setMegabytes] = useState(quota === undefined ? "" : String(quota.megabytes));
  const [every, setEvery] = useState(quota?.every ?? "day");
  const work = async () => {
    const chosen = megabytes === "" ? null : { megabytes: Number(megabytes), every };
    await change("PUT", devicePath(device), { quota: chosen });
    await refresh("devices");
  };
  return (
    <Form action={useAction()} work={work} submit={say("Save the quota")} doing={say("Saving…")}>
      <Field
        type="number"
        min={1}
        max={10_000_000}
        label={say("{device} is blocked after, in MB", { device: titleOf(device) })}
        hint={say("Sent and received together. Empty means any amount.")}
        value={megabytes}
        onValue={setMegabytes}
      />
      <Select
        label={say("The quota begins again")}
        value={every}
        onValue={setEvery}
        options={[
          { value: "day", text: say("each day") },
          { value: "month", text: say("each month") },
        ]}
      />
    </Form>
  );
}
