import type { RemoteStatus } from "../../../remote/schema.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { OnGateway } from "../../parts/on-gateway.tsx";
import { Say } from "../../parts/say.tsx";
import { Trouble } from "../../parts/trouble.tsx";

/** What it is, and the command that turns it on: only root may, because strangers reach a port of the gateway then. */
export function TurnedOff() {
  return (
    <section class="card words">
      <h2>{say("Remote access is off")}</h2>
      <p>
        {say(
          "With it, a phone or a laptop away from home connects to your home by WireGuard. It reaches the devices at home, and the internet through the exit that you give it, behind the same kill switch. It needs only the WireGuard app and a code that this page shows.",
        )}
      </p>
      <p>{say("It opens one UDP port of the gateway.")}</p>
      <OnGateway
        commands={["sudo portcullis remote on"]}
        forOwner={
          <Button kind="primary" doing={say("Turning on…")} work={() => turn(true)}>
            {say("Turn on remote access")}
          </Button>
        }
      />
      <p class="quiet">
        <Say
          message="The gateway asks a home router in front of it to forward the port. If the router does not, this page says what to enter there. If a host name points to your home, add {flag} and the name."
          parts={{ flag: <code>--endpoint</code> }}
        />
      </p>
    </section>
  );
}

/** How devices come in, or why none can. */
export function WayIn({ status }: { status: RemoteStatus }) {
  const { error, endpoint, through, ways, by_hand } = status;
  const port = status.port ?? "";
  const isOpen = ways.some(({ state }) => state === "open");
  return (
    <section class={`card words tone-${error === null ? "protected" : "partly"}`}>
      <h2>
        {say(error === null ? "Remote access is on" : "Remote access is on, but no device can come in")}
      </h2>
      <Trouble of={status} />
      <p>
        {through === null
          ? say("Devices connect through the uplink, at UDP port {port}.", { port })
          : say(
              "Devices connect through the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}}, at UDP port {port}.",
              { tunnel: through, port },
            )}
        {endpoint !== null && (
          <>
            {" "}
            <Say message="They connect to <code>{endpoint}</code>." parts={{ endpoint }} />
          </>
        )}
      </p>
      {by_hand !== null && !isOpen && (
        <p>
          {by_hand.to === null
            ? say(
                "If your home router does not forward the port by itself, enter it there: UDP port {port} to the gateway, port {own}.",
                { port: by_hand.port, own: by_hand.to_port },
              )
            : say(
                "If your home router does not forward the port by itself, enter it there: UDP port {port} to {address}, port {own}.",
                { port: by_hand.port, address: by_hand.to, own: by_hand.to_port },
              )}
        </p>
      )}
      <OnGateway
        lead={say("To let no device in any more, type on the gateway:")}
        commands={["sudo portcullis remote off"]}
        forOwner={<TurnOff />}
      />
    </section>
  );
}

function TurnOff() {
  return (
    <Button
      kind="danger"
      doing={say("Turning off…")}
      work={() => turn(false)}
      ask={{
        title: say("Turn remote access off?"),
        text: say(
          "Devices away from home are cut off. They may come in again once it is on, with the same codes.",
        ),
        confirm: say("Turn off"),
      }}
    >
      {say("Turn off remote access")}
    </Button>
  );
}

/** The gateway's event brings what has changed. */
const turn = async (on: boolean) => void (await change("PUT", "owner/remote", { on }));
