import type { Device, DeviceList } from "../../../devices/schema.ts";
import { knownOf, refresh, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { isNetwork, isRemote, titleOf } from "../../exit.ts";
import { bytesOf, timeOf } from "../../format.ts";
import { reachOf } from "../../forward.ts";
import { isPrivateMac } from "../../kind.ts";
import { say } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { DeviceActions } from "../../parts/device-actions.tsx";
import { devicePath } from "../../parts/device-exit.tsx";
import { type Fact, Facts } from "../../parts/facts.tsx";
import { Form } from "../../parts/form.tsx";
import { IconForm } from "./icon-form.tsx";
import { LimitForm } from "./limit-form.tsx";
import { QuotaForm } from "./quota-form.tsx";

/** Everything that is known of a device, its name to be changed, and what forgets it. */
export function DeviceDetails(props: { device: Device; list: DeviceList; onClose: () => void }) {
  const { device, list, onClose } = props;
  const title = titleOf(device);
  const forget = async () => {
    await change("DELETE", devicePath(device));
    await refresh("devices");
  };
  return (
    <div class="device-details">
      {!isNetwork(device) && <DeviceActions device={device} list={list} />}
      <Form
        of="device"
        rows={{
          name: {
            label: say("Name of {device}", { device: title }),
            hint:
              device.named || device.name === ""
                ? undefined
                : say("The device itself says that this is its name."),
            value: device.name,
            required: true,
          },
        }}
        work={async (given) => {
          await change("PUT", devicePath(device), given);
          // No event says that a person has confirmed the name that the device has told.
          await refresh("devices");
          onClose();
        }}
        submit={say("Save the name")}
        doing={say("Saving…")}
      />
      {!isNetwork(device) && <IconForm device={device} />}
      {!isNetwork(device) && <LimitForm device={device} />}
      {!isNetwork(device) && <QuotaForm device={device} />}
      <DeviceFacts device={device} />
      {isGiven(device) && !isRemote(device) && (
        <Button
          kind="danger"
          doing={say("Forgetting…")}
          work={forget}
          label={say("Forget {device}", { device: title })}
          ask={{
            title: say("Forget {device}?", { device: title }),
            text: [
              whatForgettingDoes(device),
              ...(device.rate === undefined ? [] : [say("Its limit ends, too.")]),
              ...(device.quota === undefined ? [] : [say("Its quota ends, too.")]),
            ].join(" "),
            confirm: say("Forget"),
          }}
        >
          {say("Forget")}
        </Button>
      )}
    </div>
  );
}

/** Whether people have given it anything that can be forgotten. */
function isGiven({ named, assigned, rate, quota, icon, group }: Device): boolean {
  return named || assigned || [rate, quota, icon, group].some((each) => each !== undefined);
}

function whatForgettingDoes(device: Device): string {
  return say(
    isNetwork(device)
      ? "{device} loses its name and its exit, and leaves the list. The gateway then no longer serves what is behind that router."
      : "{device} loses the name and the exit that were given to it, and has the default exit again. It stays in the list as long as the gateway sees it.",
    { device: titleOf(device) },
  );
}

/** Nothing for a maker that is not known. */
function makerFacts({ id, maker }: Device): Fact[] {
  const text = isPrivateMac(id) ? say("not known: the device uses a private address") : maker;
  return text === undefined ? [] : [[say("Maker"), text]];
}

function DeviceFacts({ device }: { device: Device }) {
  const { id, addresses, fixed_address, seen_at, rx_bytes, tx_bytes } = device;
  const forwards = knownOf(useAnswer("forwards"))?.forwards.filter((each) => each.device === id) ?? [];
  const facts: Fact[] = [
    ...(isRemote(device) ? [] : [[say(isNetwork(device) ? "Prefix" : "MAC address"), id] satisfies Fact]),
    ...makerFacts(device),
    [say("Addresses"), addresses.join(", ") || say("none known")],
    ...(fixed_address === null ? [] : [[say("Address from DHCP"), fixed_address] satisfies Fact]),
    ...forwards.map(
      (each): Fact => [
        say("Port {port} ({protocol})", { port: each.port, protocol: each.protocol.toUpperCase() }),
        reachOf(each),
      ],
    ),
    [say("Interface of the gateway"), device.interface ?? say("none")],
    [say("Last seen"), seen_at === null ? say("not since the gateway started") : timeOf(seen_at)],
    [
      say("Received and sent"),
      say("{received} and {sent}", { received: bytesOf(rx_bytes), sent: bytesOf(tx_bytes) }),
    ],
  ];
  return <Facts of={facts} />;
}
