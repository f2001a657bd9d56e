import type { RemoteStatus } from "../../../remote/schema.ts";
import { tunnelTitle } from "../../../shared/words.ts";
import { sentenceFrom } from "../../format.ts";
import { Icon } from "../../parts/icon.tsx";
import { OnGateway } from "../../parts/on-gateway.tsx";

/** What it is, and the command that turns it on: only root may, because strangers reach a port of the gateway then. */
export function TurnedOff() {
  return (
    <section class="card remote-words">
      <h2>Remote access is off</h2>
      <p>
        With it, a phone or a laptop on the road comes home by WireGuard. It reaches the devices at home, and
        goes to the internet by the exit that you give it, behind the same kill switch. It needs only the
        WireGuard app and a code that this page shows.
      </p>
      <p>It opens one UDP port of the gateway.</p>
      <OnGateway commands={["sudo portcullis remote on"]} />
      <p class="quiet">
        A home router in front of the gateway is asked to forward the port. If it does not, this page says
        what to enter there. With a name that leads to your home, add <code>--endpoint</code> and the name.
      </p>
    </section>
  );
}

/** How devices come in, or why none can. */
export function WayIn({ status }: { status: RemoteStatus }) {
  const { error, endpoint, port, through, ways, by_hand } = status;
  const isOpen = ways.some(({ state }) => state === "open");
  return (
    <section class={`card remote-words tone-${error === null ? "protected" : "partly"}`}>
      <h2>{error === null ? "Remote access is on" : "Remote access is on, but no device can come in"}</h2>
      {error !== null && (
        <p class="outcome failed">
          <Icon name="warning" /> <span>{sentenceFrom(error)}</span>
        </p>
      )}
      <p>
        Devices come in by {through === null ? "the uplink" : `the ${tunnelTitle(through)}`}, at UDP port{" "}
        {port}.
        {endpoint !== null && (
          <>
            {" "}
            They call <code>{endpoint}</code>.
          </>
        )}
      </p>
      {by_hand !== null && !isOpen && (
        <p>
          If your home router does not forward the port by itself, enter it there: UDP port {by_hand.port} to{" "}
          {by_hand.to ?? "the gateway"}, port {by_hand.to_port}.
        </p>
      )}
      <p class="quiet">This lets none in any more.</p>
      <OnGateway commands={["sudo portcullis remote off"]} />
    </section>
  );
}
