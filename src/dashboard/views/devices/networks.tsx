import { useState } from "preact/hooks";
import type { Device, DeviceList } from "../../../devices/schema.ts";
import { MAX_NAME_CHARACTERS } from "../../../shared/bounds.ts";
import { refresh } from "../../answers.ts";
import { change } from "../../api.ts";
import { isNetwork } from "../../exit.ts";
import { FormButton } from "../../parts/button.tsx";
import { defaultText, devicePath } from "../../parts/device-exit.tsx";
import { Field, Form, Select } from "../../parts/form.tsx";
import { useExits } from "../../protection.ts";
import { DeviceRow } from "./device-row.tsx";
import { inOrder } from "./selection.ts";

/** What is behind other routers of the LAN: it has their MAC address, so it is known by its prefix. */
export function Networks({ list }: { list: DeviceList }) {
  const networks = inOrder(list.devices.filter(isNetwork));
  return (
    <section class="card networks">
      <h2>Networks behind another router</h2>
      <p class="quiet">
        All devices behind another router at home appear with that router’s MAC address. Give them an exit by
        their addresses.
      </p>
      {networks.length > 0 && (
        <ul class="device-rows">
          {networks.map((device) => (
            <Network key={device.id} device={device} list={list} />
          ))}
        </ul>
      )}
      <Add list={list} />
    </section>
  );
}

function Network({ device, list }: { device: Device; list: DeviceList }) {
  return (
    <>
      <DeviceRow device={device} list={list} isOwn={false} />
      {device.interface === null && (
        <li class="no-route small">
          The gateway has no route to {device.id} on the LAN, so packets from there are dropped. Add the route
          on the gateway, with the other router’s address:{" "}
          <code>
            sudo ip route add {device.id} via {device.id.includes(":") ? "fd00::20" : "192.168.1.20"}
          </code>
        </li>
      )}
    </>
  );
}

function Add({ list }: { list: DeviceList }) {
  const [isShown, setShown] = useState(false);
  const exitOf = useExits();
  const [prefix, setPrefix] = useState("");
  const [name, setName] = useState("");
  const [exit, setExit] = useState("");
  const add = async () => {
    const path = devicePath({ id: prefix.trim() });
    await change("PUT", path, { name: name.trim(), exit: exit === "" ? null : exit });
    await refresh("devices");
    setPrefix("");
    setName("");
    setExit("");
    return `${prefix.trim()} is in the list now.`;
  };
  if (!isShown) return <FormButton open={() => setShown(true)}>Add a network</FormButton>;
  const exits = list.exits.filter((each) => each !== "direct");
  return (
    <Form
      work={add}
      submit="Add the network"
      doing="Adding…"
      buttons={
        <button type="button" class="button plain" onClick={() => setShown(false)}>
          Close
        </button>
      }
    >
      <Field
        label="Prefix"
        hint="Private addresses behind the other router, such as 10.8.0.0/24."
        value={prefix}
        onValue={setPrefix}
        required
      />
      <Field label="Name" value={name} onValue={setName} maxLength={MAX_NAME_CHARACTERS} required />
      <Select
        label="Exit"
        value={exit}
        onValue={setExit}
        options={[
          { value: "", text: defaultText(exitOf(list.default_exit)) },
          ...exits.map((each) => ({ value: each, text: exitOf(each).text })),
        ]}
      />
    </Form>
  );
}
