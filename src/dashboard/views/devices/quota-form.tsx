import { useState } from "preact/hooks";
import type { Device, GivenQuota } from "../../../devices/schema.ts";
import { type Action, useAction } from "../../action.ts";
import { refresh } from "../../answers.ts";
import { change } from "../../api.ts";
import { titleOf } from "../../exit.ts";
import { say } from "../../language.ts";
import { devicePath } from "../../parts/device-exit.tsx";
import { Field, Form, Select } from "../../parts/form.tsx";
import { endOf } from "../../quota.ts";
import { RateFields, rateIn, typedOf } from "./rate-fields.tsx";

/** How much a device may send and receive, and what happens then. */
export function QuotaForm({ device }: { device: Device }) {
  const action = useAction();
  const { megabytes, every, at_end } = device.quota ?? {};
  // A quota that has changed gets a new form: fields that still had the former one would set it again.
  return <Fields key={JSON.stringify([megabytes, every, at_end])} action={action} device={device} />;
}

/** The outcome of the action outlives the form. */
function Fields({ device, action }: { device: Device; action: Action }) {
  const { quota } = device;
  const title = titleOf(device);
  const [megabytes, setMegabytes] = useState(quota === undefined ? "" : String(quota.megabytes));
  const [every, setEvery] = useState(quota?.every ?? "day");
  const [end, setEnd] = useState(endOf(quota));
  const [typed, setTyped] = useState(typedOf(typeof quota?.at_end === "object" ? quota.at_end : undefined));
  const work = async () => {
    const at_end = end === "slow" ? rateIn(typed) : end;
    const given: GivenQuota | null =
      megabytes === "" ? null : { megabytes: Number(megabytes), every, at_end };
    await change("PUT", devicePath(device), { quota: given });
    await refresh("devices");
  };
  return (
    <Form action={action} work={work} submit={say("Save the quota")} doing={say("Saving…")}>
      <Field
        type="number"
        min={1}
        max={10_000_000}
        label={say("Quota of {device}, in MB", { device: title })}
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
      <Select
        label={say("At the end of the quota")}
        value={end}
        onValue={setEnd}
        options={[
          { value: "blocked", text: say("The device is blocked") },
          { value: "slow", text: say("The device is slower") },
          { value: "told", text: say("Only an alert") },
        ]}
      />
      {end === "slow" && (
        <RateFields
          typed={typed}
          onTyped={setTyped}
          down={say("{device} then receives at most, in Mbit/s", { device: title })}
          up={say("{device} then sends at most, in Mbit/s", { device: title })}
          hint={say("Empty means no limit.")}
        />
      )}
    </Form>
  );
}
