import type { Device, DeviceList } from "../../../devices/schema.ts";
import type { ShownSettings } from "../../../http/settings-schema.ts";
import { type Action, useAction } from "../../action.ts";
import { knownOf, refresh, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { isNetwork, isRemote, titleOf } from "../../exit.ts";
import { listOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Button, Outcome } from "../../parts/button.tsx";
import { devicePath } from "../../parts/device-exit.tsx";
import { useFields } from "../../parts/fields.ts";
import { Field, Form, Select } from "../../parts/form.tsx";
import { OnGateway } from "../../parts/on-gateway.tsx";

/** Which addresses devices get, if they get them from the gateway. */
export function Addresses({ of: { dhcp, command } }: { of: ShownSettings }) {
  return (
    <section class="card words">
      <h2>{say("Addresses of devices")}</h2>
      {dhcp === null ? (
        <>
          <p>
            {say(
              "Devices get their addresses from another DHCP server, such as the home router’s. The gateway can do it instead; then each device uses it without a change. First give the gateway a fixed address, and turn DHCP off in the home router.",
            )}
          </p>
          <OnGateway commands={[`${command} --dhcp`]} />
        </>
      ) : (
        <>
          <p>{rangeText(dhcp)}</p>
          <Range of={dhcp[0]} command={command} />
          <Fixed />
        </>
      )}
    </section>
  );
}

type Ranges = NonNullable<ShownSettings["dhcp"]>;

function rangeText(ranges: Ranges): string {
  if (ranges.length === 0) return say("The gateway’s DHCP server is not installed yet. “Checks” says why.");
  const all = ranges.map(({ from, to, ...on }) =>
    say("{from} to {to} on {card}", { from, to, card: on.interface }),
  );
  return say("Devices get their addresses from the gateway: {ranges}.", { ranges: listOf(all) });
}

const IPV4 = /^[0-9]{1,3}(\.[0-9]{1,3}){3}$/;

function Range({ of: range, command }: { of: Ranges[number] | undefined; command: string }) {
  const { texts, bind } = useFields({ from: range?.from ?? "", to: range?.to ?? "" });
  const isRange = IPV4.test(texts.from) && IPV4.test(texts.to);
  const isSame = texts.from === range?.from && texts.to === range?.to;
  return (
    <>
      <Field
        label={say("First address")}
        hint={say("One of the addresses that devices get; such as 192.168.1.100.")}
        {...bind("from")}
      />
      <Field label={say("Last address")} {...bind("to")} />
      {isRange && !isSame && <OnGateway commands={[`${command} --dhcp ${texts.from}-${texts.to}`]} />}
      {isSame && <p class="quiet">{say("Type others, and the command that changes them appears here.")}</p>}
    </>
  );
}

/** Devices that always get the same address. */
function Fixed() {
  const list = knownOf(useAnswer("devices"));
  const action = useAction();
  if (list === null) return null;
  const devices = list.devices.filter((each) => !isNetwork(each) && !isRemote(each));
  const fixed = devices.filter((each) => each.fixed_address !== null);
  return (
    <>
      <h3>{say("Fixed addresses")}</h3>
      <Outcome of={action} />
      {fixed.length > 0 && (
        <ul class="setting-rows">
          {fixed.map((device) => (
            <Row key={device.id} of={device} action={action} />
          ))}
        </ul>
      )}
      {devices.length > 0 && <Fix devices={devices} action={action} />}
    </>
  );
}

function Row({ of: device, action }: { of: Device; action: Action }) {
  const title = titleOf(device);
  return (
    <li class="setting row">
      <div>
        <p>
          <strong>{title}</strong>
        </p>
        <p class="quiet small">{device.fixed_address}</p>
      </div>
      <Button
        action={action}
        label={say("Let {device} have any address again", { device: title })}
        doing={say("Saving…")}
        work={async () => {
          await give(device, null);
          return say("{device} gets any free address from its next lease on.", { device: title });
        }}
      >
        {say("Any address")}
      </Button>
    </li>
  );
}

function Fix({ devices, action }: { devices: DeviceList["devices"]; action: Action }) {
  const { texts, faults, bind, set } = useFields({ device: "", address: "" });
  const device = devices.find(({ id }) => id === texts.device) ?? devices[0];
  if (device === undefined) return null;
  const fix = async () => {
    const address = texts.address.trim();
    await give(device, address);
    set({ address: "" });
    return say("{device} gets {address} from its next lease on.", { device: titleOf(device), address });
  };
  return (
    <Form work={fix} submit={say("Fix the address")} doing={say("Saving…")} action={action} faults={faults}>
      <Select
        label={say("Device with this address")}
        {...bind("device")}
        value={device.id}
        options={devices.map((each) => ({ value: each.id, text: titleOf(each) }))}
      />
      <Field label={say("Its address")} required {...bind("address")} />
    </Form>
  );
}

async function give(device: Device, address: string | null): Promise<void> {
  await change("PUT", devicePath(device), { address });
  // No event says that.
  await refresh("devices");
}
