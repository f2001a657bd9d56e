import { useState } from "preact/hooks";
import type { Device } from "../../../devices/schema.ts";
import { refresh } from "../../answers.ts";
import { change } from "../../api.ts";
import { titleOf } from "../../exit.ts";
import { say } from "../../language.ts";
import { devicePath } from "../../parts/device-exit.tsx";
import { Form, Select } from "../../parts/form.tsx";
import { Icon, type IconName } from "../../parts/icon.tsx";

type Kind = NonNullable<Device["icon"]>;

const KINDS: Readonly<Record<Kind, { text: string; icon: IconName }>> = {
  phone: { text: say("Phone"), icon: "phone" },
  laptop: { text: say("Laptop"), icon: "device" },
  tv: { text: say("TV"), icon: "tv" },
  camera: { text: say("Camera"), icon: "camera" },
  console: { text: say("Games console"), icon: "console" },
  printer: { text: say("Printer"), icon: "printer" },
  speaker: { text: say("Speaker"), icon: "speaker" },
  other: { text: say("Other device"), icon: "other" },
};

const OPTIONS = [
  { value: "" as const, text: say("No icon") },
  ...(Object.keys(KINDS) as Kind[]).map((kind) => ({ value: kind, text: KINDS[kind].text })),
];

/** What kind of device it is, beside its name; nothing if nobody has said. */
export function DeviceIcon({ device: { icon } }: { device: Device }) {
  if (icon === undefined) return null;
  return (
    <span class="device-icon" title={KINDS[icon].text}>
      <Icon name={KINDS[icon].icon} />
      <span class="hidden">{KINDS[icon].text}</span>
    </span>
  );
}

export function IconForm({ device }: { device: Device }) {
  const [icon, setIcon] = useState<Kind | "">(device.icon ?? "");
  const save = async () => {
    await change("PUT", devicePath(device), { icon: icon === "" ? null : icon });
    await refresh("devices");
  };
  return (
    <Form work={save} submit={say("Save the icon")} doing={say("Saving…")}>
      <Select
        label={say("Icon of {device}", { device: titleOf(device) })}
        value={icon}
        onValue={setIcon}
        options={OPTIONS}
      />
    </Form>
  );
}
