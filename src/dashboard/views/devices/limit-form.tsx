import { useState } from "preact/hooks";
import type { Device, DeviceList } from "../../../devices/schema.ts";
import type { Rate } from "../../../devices/values.ts";
import { type Action, useAction } from "../../action.ts";
import { refresh } from "../../answers.ts";
import { change } from "../../api.ts";
import { titleOf } from "../../exit.ts";
import { say } from "../../language.ts";
import { limitText } from "../../limit.ts";
import { BySchedule, devicePath } from "../../parts/device-exit.tsx";
import { Form } from "../../parts/form.tsx";
import { OnDemand } from "../../parts/on-demand.tsx";
import { RateFields } from "../../parts/rate-fields.tsx";
import { limitIn, typedOf } from "../../typed-rate.ts";

/** How fast a device may be each way. */
export function LimitForm({ device }: { device: Device }) {
  const title = titleOf(device);
  const action = useAction();
  return (
    <>
      <RateForm
        key={keyOf(device.rate)}
        action={action}
        rate={device.rate}
        down={say("{device} receives at most, in Mbit/s", { device: title })}
        up={say("{device} sends at most, in Mbit/s", { device: title })}
        save={(rate) => change("PUT", devicePath(device), { rate })}
      />
      <BySchedule id={device.id} what="rate" />
    </>
  );
}

/** What all others share. */
export function SharedLimit({ list: { shared_rate: rate } }: { list: DeviceList }) {
  const action = useAction();
  return (
    <section class="card words">
      <h2>{say("Limit of all others")}</h2>
      <p class="quiet">
        {say("What devices without a limit of their own receive and send together.")}{" "}
        {rate === undefined ? say("They have no limit.") : limitText(rate)}
      </p>
      <OnDemand text={say("Change the limit…")}>
        <RateForm
          key={keyOf(rate)}
          action={action}
          rate={rate}
          down={say("All others receive at most, in Mbit/s")}
          up={say("All others send at most, in Mbit/s")}
          save={(changed) => change("PUT", "shared-rate", { rate: changed })}
        />
      </OnDemand>
      <BySchedule what="shared_rate" />
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
  const [typed, setTyped] = useState(typedOf(rate));
  const work = async () => {
    await save(limitIn(typed));
    await refresh("devices");
  };
  return (
    <Form action={action} work={work} submit={say("Save the limit")} doing={say("Saving…")}>
      <RateFields {...labels} typed={typed} onTyped={setTyped} hint={say("Empty means no limit.")} />
    </Form>
  );
}

/** A limit that has changed gets a new form: a field that still had the former one would set it again. */
function keyOf(rate: Rate | undefined): string {
  return JSON.stringify([rate?.down, rate?.up]);
}
