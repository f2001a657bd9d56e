import { useState } from "preact/hooks";
import type { Device, DeviceList } from "../../../devices/schema.ts";
import type { ShownSettings } from "../../../http/settings-schema.ts";
import { useOwner } from "../../access.ts";
import { type Action, useAction } from "../../action.ts";
import { knownOf, refresh, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { deviceOptions, isNetwork, isRemote, titleOf } from "../../exit.ts";
import { listOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Button, Outcome } from "../../parts/button.tsx";
import { devicePath } from "../../parts/device-exit.tsx";
import { Field } from "../../parts/field.tsx";
import { Form } from "../../parts/form.tsx";
import { List } from "../../parts/list.tsx";
import { OnDemand } from "../../parts/on-demand.tsx";
import { OnGateway } from "../../parts/on-gateway.tsx";
import { Row } from "../../parts/row.tsx";
import { SettingButton } from "../../parts/setting-button.tsx";

/** Which addresses devices get, if they get them from the gateway. */
export function Addresses({ of: { dhcp, command } }: { of: ShownSettings }) {
  const isOwner = useOwner() !== null;
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
          <OnGateway
            commands={[`${command} --dhcp`]}
            forOwner={<SettingButton set={{ dhcp: "on" }}>{say("Give out the addresses")}</SettingButton>}
          />
        </>
      ) : (
        <>
          <p>{rangeText(dhcp)}</p>
          <OnDemand text={say("Change the addresses…")}>
            <Range of={dhcp[0]} command={command} />
          </OnDemand>
          {isOwner && <TurnOff />}
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
  const [from, setFrom] = useState(range?.from ?? "");
  const [to, setTo] = useState(range?.to ?? "");
  const isRange = IPV4.test(from) && IPV4.test(to);
  const isSame = from === range?.from && to === range?.to;
  const isOwner = useOwner() !== null;
  return (
    <>
      <Field
        label={say("First address")}
        hint={say("One of the addresses that devices get; such as 192.168.1.100.")}
        value={from}
        onValue={setFrom}
      />
      <Field label={say("Last address")} value={to} onValue={setTo} />
      {isRange && !isSame && (
        <OnGateway
          commands={[`${command} --dhcp ${from}-${to}`]}
          forOwner={
            <SettingButton set={{ dhcp: `${from}-${to}` }}>{say("Give out these addresses")}</SettingButton>
          }
        />
      )}
      {isSame && !isOwner && (
        <p class="quiet">{say("Type others, and the command that changes them appears here.")}</p>
      )}
    </>
  );
}

function TurnOff() {
  return (
    <SettingButton
      set={{ dhcp: "off" }}
      ask={{
        title: say("Turn DHCP off?"),
        text: say("Then another DHCP server, such as the home router’s, must give devices their addresses."),
        confirm: say("Turn off"),
      }}
    >
      {say("Turn DHCP off")}
    </SettingButton>
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
      <List of={fixed}>{(device) => <FixedRow key={device.id} of={device} action={action} />}</List>
      {devices.length > 0 && <Fix devices={devices} action={action} />}
    </>
  );
}

function FixedRow({ of: device, action }: { of: Device; action: Action }) {
  const title = titleOf(device);
  return (
    <Row
      name={title}
      facts={[device.fixed_address]}
      actions={
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
      }
    />
  );
}

function Fix({ devices, action }: { devices: DeviceList["devices"]; action: Action }) {
  return (
    <OnDemand text={say("Fix an address…")}>
      <Form<"device", "device">
        of="device"
        rows={{
          device: { label: say("Device with this address"), options: deviceOptions(devices) },
          address: { label: say("Its address"), required: true },
        }}
        work={async ({ device: id, address = null }) => {
          const device = devices.find((each) => each.id === id);
          await give({ id }, address);
          return say("{device} gets {address} from its next lease on.", {
            device: device === undefined ? id : titleOf(device),
            address: address ?? "",
          });
        }}
        submit={say("Fix the address")}
        doing={say("Saving…")}
        action={action}
      />
    </OnDemand>
  );
}

async function give(device: Pick<Device, "id">, address: string | null): Promise<void> {
  await change("PUT", devicePath(device), { address });
  // No event says that.
  await refresh("devices");
}
