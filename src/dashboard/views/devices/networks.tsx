import { useState } from "preact/hooks";
import type { Device, DeviceList } from "../../../devices/schema.ts";
import { isOutside } from "../../../shared/exits.ts";
import { refresh } from "../../answers.ts";
import { change } from "../../api.ts";
import { isNetwork, isOfMesh } from "../../exit.ts";
import { say } from "../../language.ts";
import { FormButton } from "../../parts/button.tsx";
import { defaultText, devicePath } from "../../parts/device-exit.tsx";
import { Form } from "../../parts/form.tsx";
import { Say } from "../../parts/say.tsx";
import { useExitOptions, useExits } from "../../protection.ts";
import { DeviceRow } from "./device-row.tsx";
import { useMeshes } from "./lan-networks.tsx";
import { inOrder } from "./selection.ts";

/** What is behind other routers of the LAN: it has their MAC address, so it is known by its prefix. */
export function Networks({ list }: { list: DeviceList }) {
  const meshes = useMeshes();
  const networks = inOrder(list.devices.filter((each) => isNetwork(each) && !isOfMesh(each, meshes)));
  return (
    <section class="card words line networks">
      <h2>{say("Networks behind another router")}</h2>
      <p class="quiet">
        {say(
          "All devices behind another router at home appear with that router’s MAC address. Give them an exit by their addresses.",
        )}
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
          <Say
            message="The gateway has no route to {prefix} on the LAN, so packets from there are dropped. Add the route on the gateway, with the other router’s address: <code>{command}</code>"
            parts={{
              prefix: device.id,
              command: `sudo ip route add ${device.id} via ${device.id.includes(":") ? "fd00::20" : "192.168.1.20"}`,
            }}
          />
        </li>
      )}
    </>
  );
}

function Add({ list }: { list: DeviceList }) {
  const [isShown, setShown] = useState(false);
  const exitOf = useExits();
  const optionsOf = useExitOptions();
  if (!isShown) return <FormButton open={() => setShown(true)}>{say("Add a network")}</FormButton>;
  return (
    <Form
      of="network"
      rows={{
        prefix: {
          label: say("Prefix"),
          hint: say("Private addresses behind the other router, such as 10.8.0.0/24."),
        },
        name: { label: say("Name"), required: true },
        exit: {
          label: say("Exit"),
          options: [
            { value: "", text: defaultText(exitOf(list.default_exit)) },
            ...optionsOf(list.exits.filter((each) => !isOutside(each))),
          ],
        },
      }}
      work={async ({ prefix, name, exit }) => {
        await change("PUT", devicePath({ id: prefix }), { name, exit });
        await refresh("devices");
        return say("{prefix} is in the list now.", { prefix });
      }}
      submit={say("Add the network")}
      doing={say("Adding…")}
      buttons={
        <button type="button" class="button plain" onClick={() => setShown(false)}>
          {say("Close")}
        </button>
      }
    />
  );
}
