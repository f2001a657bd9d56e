import { useState } from "preact/hooks";
import type { Provider, Quantum } from "../../../servers/schema.ts";
import { TUNNEL_NAME } from "../../../shared/bounds.ts";
import { standingOf } from "../../../shared/verdict.ts";
import type { Order } from "../../../tunnel/order.ts";
import type { TunnelRow } from "../../../tunnel/schema.ts";
import type { Action } from "../../action.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change, pathOf } from "../../api.ts";
import { say } from "../../language.ts";
import { targetsText } from "../../order.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Field, Form, Select } from "../../parts/form.tsx";
import type { Option } from "../../parts/options.tsx";
import { PROVIDERS, ServerField } from "./server-field.tsx";

interface LeadProps {
  /** The tunnel to be moved; a new one if there is none. */
  row?: TunnelRow;
  action: Action;
  onClose: () => void;
}

const KEYS: readonly Option<Quantum>[] = [
  { value: "off", text: say("No") },
  { value: "on", text: say("If the server supports it") },
  { value: "require", text: say("Always: otherwise no data gets through") },
];

/** Asks where a tunnel should lead, and stays open until it is connected or the reason why not is shown. */
export function Lead({ row, action, onClose }: LeadProps) {
  const current = knownOf(useAnswer("servers/counts"))?.current ?? "managed";
  const [name, setName] = useState(row?.name ?? "");
  const [chosen, setProvider] = useState<Provider | null>(row?.provider ?? null);
  const [server, setServer] = useState("");
  const [quantum, setQuantum] = useState<Quantum>(row?.wanted_quantum ?? "off");
  const provider = chosen ?? current;
  const lead = async () => {
    await change("PUT", pathOf("tunnels", name.trim()), {
      provider,
      server: server.trim(),
      ...(quantum !== (row?.wanted_quantum ?? "off") && { quantum }),
    });
    onClose();
    return say("The {tunnel, select, main {main tunnel} other {tunnel {tunnel}}} is connected.", {
      tunnel: name.trim(),
    });
  };
  return (
    <Dialog title={row === undefined ? say("Add a tunnel") : titleOf(row)} onClose={onClose}>
      <Form
        action={action}
        work={lead}
        submit={say(row === undefined ? "Add and connect" : "Connect")}
        doing={say("Connecting to {place}…", { place: server.trim() })}
      >
        {row === undefined && (
          <Field
            label={say("Name")}
            hint={say("Up to 32 of a to z, 0 to 9 and -, such as tv.")}
            value={name}
            onValue={setName}
            pattern={TUNNEL_NAME}
            title={say("up to 32 of a to z, 0 to 9 and -")}
            required
          />
        )}
        <Select label={say("Servers from")} value={provider} onValue={setProvider} options={PROVIDERS} />
        <ServerField
          label={say("Server, city or country")}
          hint={say("For a city or a country, the nearest server is used.")}
          provider={provider}
          value={server}
          onValue={setServer}
        />
        {(provider === "managed" || row?.wanted_quantum === "require") && (
          <Select
            label={say("Quantum-resistant keys")}
            hint={say("Only Mullvad’s servers have them.")}
            value={quantum}
            onValue={setQuantum}
            options={KEYS}
          />
        )}
        {row?.order !== undefined && <p>{whatEnds(row.order)}</p>}
        {row !== undefined && <p class="quiet small">{whatMovingDoes(row)}</p>}
      </Form>
    </Dialog>
  );
}

function titleOf({ name }: TunnelRow): string {
  return say("Change the server of the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}}", {
    tunnel: name,
  });
}

function whatEnds(order: Order): string {
  return say("This one replaces the targets that the tunnel has now: {targets}.", {
    targets: targetsText(order),
  });
}

function whatMovingDoes(row: TunnelRow): string {
  const { state, wanted, wanted_via } = standingOf(row);
  if (state === "connected" || state === "reconnecting") {
    const kept = say(
      "Its devices stay connected until the new server answers. If it does not, the tunnel keeps its server.",
    );
    return wanted_via === undefined
      ? kept
      : `${kept} ${say("The new server is reached directly, not via {via}.", { via: wanted_via })}`;
  }
  return say(
    wanted === null ? "Its devices have internet once the server answers." : "It will be tried at once.",
  );
}
