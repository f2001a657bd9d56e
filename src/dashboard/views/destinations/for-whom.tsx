import { useState } from "preact/hooks";
import type { DeviceList } from "../../../devices/schema.ts";
import { titleOf } from "../../exit.ts";
import { say } from "../../language.ts";
import { Select } from "../../parts/form.tsx";

interface ForWhomProps {
  devices: DeviceList["devices"];
  /** Ids of devices; all if empty. */
  value: readonly string[];
  onValue: (ids: string[]) => void;
}

/** All devices, or those that are ticked. */
export function ForWhom({ devices, value, onValue }: ForWhomProps) {
  const [isForSome, setForSome] = useState(value.length > 0);
  const choose = (choice: "all" | "some") => {
    setForSome(choice === "some");
    if (choice === "all") onValue([]);
  };
  return (
    <>
      <Select
        label={say("For")}
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
          {devices.map((device) => (
            <label key={device.id}>
              <input
                type="checkbox"
                checked={value.includes(device.id)}
                onInput={({ currentTarget: { checked } }) =>
                  onValue(checked ? [...value, device.id] : value.filter((id) => id !== device.id))
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
