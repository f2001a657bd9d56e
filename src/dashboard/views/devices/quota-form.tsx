import { useState } from "preact/hooks";
import type { Device, DeviceList, GivenQuota, Quota } from "../../../devices/schema.ts";
import { type Action, useAction } from "../../action.ts";
import { refresh } from "../../answers.ts";
import { change } from "../../api.ts";
import { titleOf } from "../../exit.ts";
import { say } from "../../language.ts";
import { devicePath } from "../../parts/device-exit.tsx";
import { Field, Form, Select } from "../../parts/form.tsx";
import { RateFields } from "../../parts/rate-fields.tsx";
import { endOf, quotaText } from "../../quota.ts";
import { rateIn, typedOf } from "../../typed-rate.ts";

/** How much a device may send and receive, and what happens then. */
export function QuotaForm({ device }: { device: Device }) {
  const title = titleOf(device);
  return (
    <QuotaFields
      key={keyOf(device.quota)}
      action={useAction()}
      quota={device.quota}
      label={say("Quota of {device}, in MB", { device: title })}
      blocked={say("The device is blocked")}
      slower={say("The device is slower")}
      down={say("{device} then receives at most, in Mbit/s", { device: title })}
      up={say("{device} then sends at most, in Mbit/s", { device: title })}
      save={(quota) => change("PUT", devicePath(device), { quota })}
    />
  );
}

/** What everybody else shares. */
export function SharedQuota({ list: { shared_quota: quota } }: { list: DeviceList }) {
  return (
    <section class="card words">
      <h2>{say("Quota of all others")}</h2>
      <p class="quiet">
        {say(
          "How much devices without a quota of their own send and receive together. One guest can use all of it.",
        )}{" "}
        {quota === undefined ? say("They have no quota.") : quotaText(quota)}
      </p>
      <QuotaFields
        key={keyOf(quota)}
        action={useAction()}
        quota={quota}
        label={say("Quota of all others, in MB")}
        blocked={say("They are blocked")}
        slower={say("They are slower")}
        down={say("All others then receive at most, in Mbit/s")}
        up={say("All others then send at most, in Mbit/s")}
        save={(changed) => change("PUT", "shared-quota", { quota: changed })}
      />
    </section>
  );
}

/** A quota that has changed gets a new form: fields that still had the former one would set it again. */
function keyOf({ megabytes, every, at_end }: Partial<Quota> = {}): string {
  return JSON.stringify([megabytes, every, at_end]);
}

interface FieldsProps {
  quota: Quota | undefined;
  /** Its outcome outlives the form. */
  action: Action;
  /** What the fields and the choices are called. */
  label: string;
  blocked: string;
  slower: string;
  down: string;
  up: string;
  save: (quota: GivenQuota | null) => Promise<unknown>;
}

function QuotaFields({ quota, action, save, ...labels }: FieldsProps) {
  const [megabytes, setMegabytes] = useState(quota === undefined ? "" : String(quota.megabytes));
  const [every, setEvery] = useState(quota?.every ?? "day");
  const [end, setEnd] = useState(endOf(quota));
  const [typed, setTyped] = useState(typedOf(typeof quota?.at_end === "object" ? quota.at_end : undefined));
  const work = async () => {
    const at_end = end === "slow" ? rateIn(typed) : end;
    const given: GivenQuota | null =
      megabytes === "" ? null : { megabytes: Number(megabytes), every, at_end };
    await save(given);
    await refresh("devices");
  };
  return (
    <Form action={action} work={work} submit={say("Save the quota")} doing={say("Saving…")}>
      <Field
        type="number"
        min={1}
        max={10_000_000}
        label={labels.label}
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
          { value: "blocked", text: labels.blocked },
          { value: "slow", text: labels.slower },
          { value: "told", text: say("Only an alert") },
        ]}
      />
      {end === "slow" && (
        <RateFields
          typed={typed}
          onTyped={setTyped}
          down={labels.down}
          up={labels.up}
          hint={say("Empty means no limit.")}
        />
      )}
    </Form>
  );
}
