import type { Device, DeviceList } from "../../../devices/schema.ts";
import type { Quota } from "../../../devices/values.ts";
import { refresh } from "../../answers.ts";
import { change } from "../../api.ts";
import { titleOf } from "../../exit.ts";
import { say } from "../../language.ts";
import { type QuotaLabels, quotaIn, quotaRows } from "../../limit-rows.ts";
import { BySchedule, devicePath } from "../../parts/device-exit.tsx";
import { Form } from "../../parts/form.tsx";
import { OnDemand } from "../../parts/on-demand.tsx";
import { quotaText } from "../../quota.ts";

/** How much a device may send and receive, and what happens then. */
export function QuotaForm({ device }: { device: Device }) {
  const title = titleOf(device);
  return (
    <>
      <AmountForm
        quota={device.quota}
        label={say("Quota of {device}, in MB", { device: title })}
        blocked={say("The device is blocked")}
        slower={say("The device is slower")}
        down={say("{device} then receives at most, in Mbit/s", { device: title })}
        up={say("{device} then sends at most, in Mbit/s", { device: title })}
        path={devicePath(device)}
      />
      <BySchedule id={device.id} what="quota" />
    </>
  );
}

/** What all others share. */
export function SharedQuota({ list: { shared_quota: quota } }: { list: DeviceList }) {
  return (
    <section class="card words line">
      <h2>{say("Quota of all others")}</h2>
      <p class="quiet">
        {say(
          "How much devices without a quota of their own send and receive together. One guest can use all of it.",
        )}{" "}
        {quota === undefined ? say("They have no quota.") : quotaText(quota)}
      </p>
      <OnDemand text={say("Change the quota…")}>
        <AmountForm
          quota={quota}
          label={say("Quota of all others, in MB")}
          blocked={say("They are blocked")}
          slower={say("They are slower")}
          down={say("All others then receive at most, in Mbit/s")}
          up={say("All others then send at most, in Mbit/s")}
          path="shared-quota"
        />
      </OnDemand>
      <BySchedule what="shared_quota" />
    </section>
  );
}

export function AmountForm({
  quota,
  path,
  ...labels
}: QuotaLabels & { quota: Quota | undefined; path: string }) {
  return (
    <Form<"quota", "end">
      of="quota"
      rows={({ end }) => quotaRows(labels, quota, end)}
      work={async (given) => {
        await change("PUT", path, { quota: quotaIn(given) });
        await Promise.all([refresh("devices"), refresh("networks")]);
      }}
      submit={say("Save the quota")}
      doing={say("Saving…")}
    />
  );
}
