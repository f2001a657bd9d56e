import { useId, useState } from "preact/hooks";
import type { Device } from "../../../devices/schema.ts";
import { MAX_NAME_CHARACTERS } from "../../../shared/bounds.ts";
import { knownOf, refresh, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { titleOf } from "../../exit.ts";
import { KINDS, type Kind, kindOf } from "../../kind.ts";
import { say } from "../../language.ts";
import { devicePath } from "../../parts/device-exit.tsx";
import { Field, Form, Select } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";

const OPTIONS = [
  { value: "" as const, text: say("No icon") },
  ...(Object.keys(KINDS) as Kind[]).map((kind) => ({ value: kind, text: KINDS[kind].text })),
];

/** What kind of device it is, beside its name; nothing if nobody has said, and its name does not tell. */
export function DeviceIcon({ device }: { device: Device }) {
  const kind = kindOf(device);
  if (kind === "other" && device.icon === undefined) return null;
  return (
    <span class="device-icon" title={KINDS[kind].text}>
      <Icon name={KINDS[kind].icon} />
      <span class="hidden">{KINDS[kind].text}</span>
    </span>
  );
}

/** What kind of device it is, and to whom or where it belongs. */
export function IconForm({ device }: { device: Device }) {
  const list = useId();
  const [icon, setIcon] = useState<Kind | "">(device.icon ?? "");
  const [group, setGroup] = useState(device.group ?? "");
  const title = titleOf(device);
  const save = async () => {
    const given = group.trim();
    await change("PUT", devicePath(device), {
      icon: icon === "" ? null : icon,
      group: given === "" ? null : given,
    });
    await refresh("devices");
  };
  return (
    <Form work={save} submit={say("Save icon and group")} doing={say("Saving…")}>
      <Select
        label={say("Icon of {device}", { device: title })}
        value={icon}
        onValue={setIcon}
        options={OPTIONS}
      />
      <Field
        label={say("Group of {device}", { device: title })}
        hint={say("A person or a room: devices of one group stand together in the picture of the home.")}
        value={group}
        onValue={setGroup}
        maxLength={MAX_NAME_CHARACTERS}
        list={list}
      />
      <datalist id={list}>
        {useGroups().map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </Form>
  );
}

/** Those that other devices have. */
function useGroups(): string[] {
  const devices = knownOf(useAnswer("devices"))?.devices ?? [];
  return [...new Set(devices.flatMap(({ group }) => group ?? []))].toSorted();
}
