import { useState } from "preact/hooks";
import type { Device, DeviceList } from "../../../devices/schema.ts";
import type { GivenQuota, Quota } from "../../../devices/values.ts";
import { type Action, useAction } from "../../action.ts";
import { refresh } from "../../answers.ts";
import { change } from "../../api.ts";
import { titleOf } from "../../exit.ts";
import { say } from "../../language.ts";
import { BySchedule, devicePath } from "../../parts/device-exit.tsx";
import { Form } from "../../parts/form.tsx";
import { OnDemand } from "../../parts/on-demand.tsx";
import { QuotaFields, type QuotaLabels } from "../../parts/quota-fields.tsx";
import { quotaText } from "../../quota.ts";
import { quotaIn, quotaTypedOf } from "../../typed-quota.ts";

/** How much a device may send and receive, and what happens then. */
export function QuotaForm({ device }: { device: Device }) {
  const title = titleOf(device);
  return (
    <>
      <AmountForm
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
      <BySchedule id={device.id} what="quota" />
    </>
  );
}

/** What all others share. */
export function SharedQuota({ list: { shared_quota: quota } }: { list: DeviceList }) {
  const action = useAction();
  return (
    <section class="card words">
      <h2>{say("Quota of all others")}</h2>
      <p class="quiet">
        {say(
          "How much devices without a quota of their own send and receive together. One guest can use all of it.",
        )}{" "}
        {quota === undefined ? say("They have no quota.") : quotaText(quota)}
      </p>
      <OnDemand text={say("Change the quota…")}>
        <AmountForm
          key={keyOf(quota)}
          action={action}
          quota={quota}
          label={say("Quota of all others, in MB")}
          blocked={say("They are blocked")}
          slower={say("They are slower")}
          down={say("All others then receive at most, in Mbit/s")}
          up={say("All others then send at most, in Mbit/s")}
          save={(changed) => change("PUT", "shared-quota", { quota: changed })}
        />
      </OnDemand>
      <BySchedule what="shared_quota" />
    </section>
  );
}

/** A quota that has changed gets a new form: fields that still had the former one would set it again. */
function keyOf({ megabytes, every, at_end }: Partial<Quota> = {}): string {
  return JSON.stringify([megabytes, every, at_end]);
}

interface AmountProps extends QuotaLabels {
  quota: Quota | undefined;
  /** Its outcome outlives the form. */
  action: Action;
  save: (quota: GivenQuota | null) => Promise<unknown>;
}

function AmountForm({ quota, action, save, ...labels }: AmountProps) {
  const [typed, setTyped] = useState(() => quotaTypedOf(quota));
  const work = async () => {
    await save(quotaIn(typed));
    await refresh("devices");
  };
  return (
    <Form action={action} work={work} submit={say("Save the quota")} doing={say("Saving…")}>
      <QuotaFields {...labels} typed={typed} onTyped={setTyped} />
    </Form>
  );
}
