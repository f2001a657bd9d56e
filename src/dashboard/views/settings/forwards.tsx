import type { Forward } from "../../../forwards/schema.ts";
import { type Action, useAction } from "../../action.ts";
import { knownOf, refresh, useAnswer } from "../../answers.ts";
import { change, pathOf } from "../../api.ts";
import { deviceOptions, isNetwork, isRemote } from "../../exit.ts";
import { reachSentence } from "../../forward.ts";
import { say } from "../../language.ts";
import { Button, Outcome } from "../../parts/button.tsx";
import { Form } from "../../parts/form.tsx";
import { List, Ready } from "../../parts/list.tsx";
import { OnDemand } from "../../parts/on-demand.tsx";
import { Row } from "../../parts/row.tsx";

/** Ports of the VPN's servers that lead to devices at home. */
export function Forwards() {
  const list = useAnswer("forwards");
  const action = useAction();
  return (
    <section class="card words">
      <h2>{say("Forwarded ports")}</h2>
      <p class="quiet">
        {say(
          "A forwarded port lets everyone on the internet reach one port of one device, at an address of the VPN provider. Your home’s own address stays hidden. Forward only what is meant to be reached by strangers.",
        )}
      </p>
      <Outcome of={action} />
      <Ready of={list}>
        {({ forwards }) => (
          <List of={forwards}>{(each) => <ForwardRow key={pathTo(each)} of={each} action={action} />}</List>
        )}
      </Ready>
      <Add action={action} />
    </section>
  );
}

type Id = Pick<Forward, "device" | "protocol" | "port">;

function pathTo({ device, protocol, port }: Id): string {
  return pathOf("forwards", device, protocol, String(port));
}

const STATES: Record<Forward["state"], string> = {
  open: say("Open"),
  opening: say("Opening"),
  closed: say("Not open"),
};

function ForwardRow({ of: forward, action }: { of: Forward; action: Action }) {
  const { device, name, protocol, port, state } = forward;
  const title = say("{device}, {protocol} port {port}", {
    device: name || device,
    protocol: protocol.toUpperCase(),
    port,
  });
  return (
    <Row
      name={title}
      label={{ text: STATES[state], isGood: state === "open" }}
      facts={[reachSentence(forward)]}
      actions={
        <Button
          kind="danger"
          action={action}
          label={say("Close {title}", { title })}
          doing={say("Closing…")}
          work={async () => {
            await change("DELETE", pathTo(forward));
            return say("{title} is closed.", { title });
          }}
          ask={{
            title: say("Close {title}?", { title }),
            text: say(
              forward.asked_by === "device"
                ? "It can no longer be reached from the internet, and open connections end. The device may ask for it again."
                : "It can no longer be reached from the internet, and open connections end.",
            ),
            confirm: say("Close the port"),
          }}
        >
          {say("Close")}
        </Button>
      }
    />
  );
}

function Add({ action }: { action: Action }) {
  const devices = (knownOf(useAnswer("devices"))?.devices ?? []).filter(
    (each) => !isNetwork(each) && !isRemote(each),
  );
  if (devices.length === 0)
    return (
      <p>{say("The gateway does not know any device yet. It will once one has used it as its router.")}</p>
    );
  return (
    <OnDemand text={say("Forward a port…")}>
      <Form<"forward", "protocol">
        of="forward"
        rows={{
          device: { label: say("Device"), options: deviceOptions(devices) },
          port: {
            label: say("Port on the device"),
            hint: say("You find it in the program’s settings on the device."),
          },
          protocol: {
            label: say("Protocol"),
            options: [
              { value: "both", text: say("TCP and UDP") },
              { value: "tcp", text: "TCP" },
              { value: "udp", text: "UDP" },
            ],
          },
          external: {
            label: say("Port at the provider, if you have set one on its site"),
            hint: say(
              "If left empty, the gateway asks the provider for a port; not every provider opens one.",
            ),
          },
        }}
        work={async ({ device, protocol: chosen, port, external }) => {
          const said: string[] = [];
          for (const protocol of chosen === "both" ? ["tcp", "udp"] : [chosen]) {
            const path = pathOf("forwards", device, protocol, String(port));
            said.push(saidOf(await change<Forward>("PUT", path, { external })));
          }
          // What is opening is told once it is open.
          void refresh("forwards");
          return said.join(" ");
        }}
        submit={say("Forward the port")}
        doing={say("Opening…")}
        action={action}
      />
    </OnDemand>
  );
}

function saidOf(forward: Forward): string {
  const title = say("{protocol} port {port}", {
    protocol: forward.protocol.toUpperCase(),
    port: forward.port,
  });
  const text = reachSentence(forward, title);
  return forward.state === "open" ? text : `${text} ${say("It is saved, and opens as soon as it can.")}`;
}
