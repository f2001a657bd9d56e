import { useState } from "preact/hooks";
import { useAction } from "../action.ts";
import { knownOf, useAnswer } from "../answers.ts";
import { say } from "../language.ts";
import { FormButton, Outcome } from "../parts/button.tsx";
import { Ready } from "../parts/list.tsx";
import { Lead } from "./tunnels/lead.tsx";
import { Speed } from "./tunnels/speed.tsx";
import { TunnelCard } from "./tunnels/tunnel-card.tsx";

/** The tunnels: where each leads, who goes through it, and what can be done about it. */
export function Tunnels() {
  const tunnels = useAnswer("tunnels");
  const devices = knownOf(useAnswer("devices"));
  return (
    <div class="tunnels">
      <h1>{say("Tunnels")}</h1>
      <p class="quiet">
        {say(
          "Each device goes through its tunnel or nowhere. If a tunnel is down, its devices are blocked; no other tunnel takes its place, except where a device has several exits in order.",
        )}
      </p>
      <Ready of={tunnels}>
        {({ tunnels: rows }) => (
          <>
            {rows.map((row) => (
              <TunnelCard key={row.name} row={row} devices={devices} />
            ))}
            <Add />
            <Speed tunnels={rows.map(({ name }) => name)} />
          </>
        )}
      </Ready>
    </div>
  );
}

/** The action outlives the dialog: the outcome of a connect that takes its time is not lost with it. */
function Add() {
  const [isOpen, setOpen] = useState(false);
  const action = useAction();
  return (
    <div>
      <FormButton open={() => setOpen(true)}>{say("Add a tunnel")}</FormButton>
      {!isOpen && <Outcome of={action} />}
      {isOpen && <Lead action={action} onClose={() => setOpen(false)} />}
    </div>
  );
}
