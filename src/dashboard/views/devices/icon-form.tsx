import type { Device } from "../../../devices/schema.ts";
import { knownOf, refresh, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { titleOf } from "../../exit.ts";
import { KINDS, type Kind, kindOf } from "../../kind.ts";
import { say } from "../../language.ts";
import { devicePath } from "../../parts/device-exit.tsx";
import { Form } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";

const OPTIONS = [
  { value: "", text: say("No icon") },
  ...(Object.keys(KINDS) as Kind[]).map((kind) => ({ value: kind, text: KINDS[kind].text })),
];

/** What kind of device it is, beside its name; without a word if nobody has said, and its name does not tell. */
export function DeviceIcon({ device }: { device: Device }) {
  const kind = kindOf(device);
  const isKnown = kind !== "other" || device.icon !== undefined;
  return (
    <span class={`device-icon ${isKnown ? "" : "guess"}`} title={isKnown ? KINDS[kind].text : undefined}>
      <Icon name={KINDS[kind].icon} />
      {isKnown && <span class="hidden">{KINDS[kind].text}</span>}
    </span>
  );
}

/** What kind of device it is, and to whom or where it belongs. */
export function IconForm({ device }: { device: Device }) {
  const title = titleOf(device);
  return (
    <Form
      of="device"
      rows={{
        icon: {
          label: say("Icon of {device}", { device: title }),
          value: device.icon ?? "",
          options: OPTIONS,
        },
        group: {
          label: say("Group of {device}", { device: title }),
          hint: say("A person or a room: devices of one group stand together in the picture of the home."),
          value: device.group ?? "",
          suggestions: useGroups().map((value) => ({ value, text: "" })),
        },
      }}
      work={async (given) => {
        await change("PUT", devicePath(device), given);
        await refresh("devices");
      }}
      submit={say("Save icon and group")}
      doing={say("Saving…")}
    />
  );
}

/** Those that other devices have. */
function useGroups(): string[] {
  const devices = knownOf(useAnswer("devices"))?.devices ?? [];
  return [...new Set(devices.flatMap(({ group }) => group ?? []))].toSorted();
}
