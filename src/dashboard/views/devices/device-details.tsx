import { useState } from "preact/hooks";
import type { Device } from "../../../devices/schema.ts";
import { MAX_NAME_CHARACTERS } from "../../../shared/bounds.ts";
import { knownOf, refresh, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { isNetwork, isRemote, titleOf } from "../../exit.ts";
import { bytesOf, timeOf } from "../../format.ts";
import { reachOf } from "../../forward.ts";
import { Button } from "../../parts/button.tsx";
import { devicePath } from "../../parts/device-exit.tsx";
import { type Fact, Facts } from "../../parts/facts.tsx";
import { Field, Form } from "../../parts/form.tsx";

/** Everything that is known of a device, its name to be changed, and what forgets it. */
export function DeviceDetails({ device, onClose }: { device: Device; onClose: () => void }) {
  const [name, setName] = useState(device.name);
  const title = titleOf(device);
  const rename = async () => {
    await change("PUT", devicePath(device), { name: name.trim() });
    // No event says that a person has confirmed the name that the device has told.
    await refresh("devices");
    onClose();
  };
  const forget = async () => {
    await change("DELETE", devicePath(device));
    await refresh("devices");
  };
  return (
    <div class="device-details">
      <Form work={rename} submit="Save the name" doing="Saving…">
        <Field
          label={`Name of ${title}`}
          hint={
            device.named || device.name === "" ? undefined : "The device itself says that this is its name."
          }
          value={name}
          onValue={setName}
          maxLength={MAX_NAME_CHARACTERS}
          required
        />
      </Form>
      <DeviceFacts device={device} />
      {(device.named || device.assigned) && !isRemote(device) && (
        <Button
          kind="danger"
          doing="Forgetting…"
          work={forget}
          label={`Forget ${title}`}
          ask={{ title: `Forget ${title}?`, text: whatForgettingDoes(device), confirm: "Forget" }}
        >
          Forget
        </Button>
      )}
    </div>
  );
}

function whatForgettingDoes(device: Device): string {
  const title = titleOf(device);
  return isNetwork(device)
    ? `${title} loses its name and its exit, and leaves the list. The gateway then no longer serves what is behind that router.`
    : `${title} loses the name and the exit that were given to it, and has the default exit again. It stays in the list as long as the gateway sees it.`;
}

function DeviceFacts({ device }: { device: Device }) {
  const { id, addresses, fixed_address, seen_at, rx_bytes, tx_bytes } = device;
  const forwards = knownOf(useAnswer("forwards"))?.forwards.filter((each) => each.device === id) ?? [];
  const facts: Fact[] = [
    ...(isRemote(device) ? [] : [[isNetwork(device) ? "Prefix" : "MAC address", id] satisfies Fact]),
    ["Addresses", addresses.join(", ") || "none known"],
    ...(fixed_address === null ? [] : [["Address from DHCP", fixed_address] satisfies Fact]),
    ...forwards.map((each): Fact => [`Port ${each.port} (${each.protocol.toUpperCase()})`, reachOf(each)]),
    ["Interface of the gateway", device.interface ?? "none"],
    ["Last seen", seen_at === null ? "not since the gateway started" : timeOf(seen_at)],
    ["Received and sent", `${bytesOf(rx_bytes)} and ${bytesOf(tx_bytes)}`],
  ];
  return <Facts of={facts} />;
}
