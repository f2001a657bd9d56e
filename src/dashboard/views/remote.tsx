import { useState } from "preact/hooks";
import type { RemoteStatus } from "../../remote/schema.ts";
import { knownOf, useAnswer } from "../answers.ts";
import { useFresh } from "../fresh.ts";
import { say } from "../language.ts";
import { FormButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { ListCard, Ready } from "../parts/list.tsx";
import { Add } from "./remote/add.tsx";
import { Homes } from "./remote/homes.tsx";
import { RemoteRow } from "./remote/row.tsx";
import { TurnedOff, WayIn } from "./remote/way-in.tsx";

/** Phones and laptops that reach home from outside: how, and which. */
export function Remote() {
  const remote = useAnswer("remote");
  const [isAdding, setAdding] = useState(false);
  const status = knownOf(remote);
  useFresh("remote", status?.devices.some(({ online }) => online) === true);
  return (
    <div class="remote">
      <header class="view-head">
        <h1>{say("Remote access")}</h1>
        {status?.on && (
          <FormButton open={() => setAdding(true)}>
            <Icon name="add" /> {say("Add a device…")}
          </FormButton>
        )}
      </header>
      <Ready of={remote}>
        {(value) => (
          <>
            {value.on ? <WayIn status={value} /> : <TurnedOff />}
            <Devices status={value} />
            <Homes isOn={value.on} />
          </>
        )}
      </Ready>
      {isAdding && <Add onClose={() => setAdding(false)} />}
    </div>
  );
}

function Devices({ status: { on, devices } }: { status: RemoteStatus }) {
  const list = knownOf(useAnswer("devices"));
  if (devices.length === 0 && !on) return null;
  return (
    <ListCard
      of={devices}
      title={say("Devices")}
      about={!on && say("They may come in again when remote access is on. Nobody needs a new code.")}
      empty={{
        title: say("No device may come in yet"),
        text: say("Add a phone: give it a name, and scan the code with the WireGuard app."),
      }}
    >
      {(device) => <RemoteRow key={device.id} device={device} list={list} />}
    </ListCard>
  );
}
