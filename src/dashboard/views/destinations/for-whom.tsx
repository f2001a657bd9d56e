import { useState } from "preact/hooks";
import type { DeviceList } from "../../../devices/schema.ts";
import { wordsIn } from "../../destination.ts";
import { titleOf } from "../../exit.ts";
import { say } from "../../language.ts";
import { Select } from "../../parts/field.tsx";
import type { Drawn } from "../../parts/form.tsx";

/** All devices, or those that are ticked. The value has their ids. */
export function ForWhom(props: Drawn & { devices: DeviceList["devices"] }) {
  const ids = wordsIn(props.value);
  const [isForSome, setForSome] = useState(ids.length > 0);
  const give = (wanted: readonly string[]) => props.onValue(wanted.join(" "));
  const choose = (choice: "all" | "some") => {
    setForSome(choice === "some");
    if (choice === "all") give([]);
  };
  return (
    <>
      <Select
        label={props.label}
        fault={props.fault}
        value={isForSome ? "some" : "all"}
        onValue={choose}
        options={[
          { value: "all", text: say("All devices") },
          { value: "some", text: say("Some devices") },
        ]}
      />
      {isForSome && (
        <fieldset class="field for-whom">
          <legend>{say("Devices")}</legend>
          {props.devices.map((device) => (
            <label key={device.id}>
              <input
                type="checkbox"
                checked={ids.includes(device.id)}
                onInput={({ currentTarget: { checked } }) =>
                  give(ids.filter((id) => id !== device.id).concat(checked ? [device.id] : []))
                }
              />
              {titleOf(device)}
            </label>
          ))}
        </fieldset>
      )}
    </>
  );
}
