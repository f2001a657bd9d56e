import type { Provider, Quantum } from "../../../servers/schema.ts";
import { standingOf } from "../../../shared/verdict.ts";
import type { Order } from "../../../tunnel/order.ts";
import type { TunnelRow } from "../../../tunnel/schema.ts";
import type { Action } from "../../action.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change, pathOf } from "../../api.ts";
import { say } from "../../language.ts";
import { targetsText } from "../../order.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import type { Option } from "../../parts/option.ts";
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
  const current = row?.provider ?? knownOf(useAnswer("servers/counts"))?.current ?? "managed";
  const before = row?.wanted_quantum ?? "off";
  return (
    <Dialog title={row === undefined ? say("Add a tunnel") : titleOf(row)} onClose={onClose}>
      <Form
        of="tunnel"
        rows={({ provider = current }) => ({
          name: row === undefined && {
            label: say("Name"),
            hint: say("Up to 32 of a to z, 0 to 9 and -, such as tv."),
            title: say("up to 32 of a to z, 0 to 9 and -"),
          },
          provider: { label: say("Servers from"), value: current, options: PROVIDERS },
          server: {
            label: say("Server, city or country"),
            hint: say("For a city or a country, the nearest server is used."),
            draw: (field) => <ServerField {...field} provider={provider as Provider} />,
          },
          quantum: (provider === "managed" || before === "require") && {
            label: say("Quantum-resistant keys"),
            hint: say("Only Mullvad’s servers have them."),
            value: before,
            options: KEYS,
          },
        })}
        work={async ({ name, quantum, ...to }) => {
          const tunnel = row?.name ?? name;
          await change("PUT", pathOf("tunnels", tunnel), { ...to, ...(quantum !== before && { quantum }) });
          onClose();
          return say("The {tunnel, select, main {main tunnel} other {tunnel {tunnel}}} is connected.", {
            tunnel,
          });
        }}
        submit={say(row === undefined ? "Add and connect" : "Connect")}
        doing={({ server = "" }) => say("Connecting to {place}…", { place: server.trim() })}
        action={action}
      >
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
