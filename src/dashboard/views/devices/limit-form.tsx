import type { Device, DeviceList } from "../../../devices/schema.ts";
import type { Rate } from "../../../devices/values.ts";
import { refresh } from "../../answers.ts";
import { change } from "../../api.ts";
import { titleOf } from "../../exit.ts";
import { say } from "../../language.ts";
import { limitText } from "../../limit.ts";
import { type RateLabels, rateIn, rateRows } from "../../limit-rows.ts";
import { BySchedule, devicePath } from "../../parts/device-exit.tsx";
import { Form } from "../../parts/form.tsx";
import { OnDemand } from "../../parts/on-demand.tsx";

/** How fast a device may be each way. */
export function LimitForm({ device }: { device: Device }) {
  const title = titleOf(device);
  return (
    <>
      <RateForm
        rate={device.rate}
        down={say("{device} receives at most, in Mbit/s", { device: title })}
        up={say("{device} sends at most, in Mbit/s", { device: title })}
        path={devicePath(device)}
      />
      <BySchedule id={device.id} what="rate" />
    </>
  );
}

/** What all others share. */
export function SharedLimit({ list: { shared_rate: rate } }: { list: DeviceList }) {
  return (
    <section class="card words line">
      <h2>{say("Limit of all others")}</h2>
      <p class="quiet">
        {say("What devices without a limit of their own receive and send together.")}{" "}
        {rate === undefined ? say("They have no limit.") : limitText(rate)}
      </p>
      <OnDemand text={say("Change the limit…")}>
        <RateForm
          rate={rate}
          down={say("All others receive at most, in Mbit/s")}
          up={say("All others send at most, in Mbit/s")}
          path="shared-rate"
        />
      </OnDemand>
      <BySchedule what="shared_rate" />
    </section>
  );
}

export function RateForm({ rate, path, ...labels }: RateLabels & { rate: Rate | undefined; path: string }) {
  return (
    <Form
      of="rate"
      rows={rateRows(labels, rate)}
      work={async (given) => {
        await change("PUT", path, { rate: rateIn(given) });
        await Promise.all([refresh("devices"), refresh("networks")]);
      }}
      submit={say("Save the limit")}
      doing={say("Saving…")}
    />
  );
}
