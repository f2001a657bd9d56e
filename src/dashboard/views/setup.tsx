import { standingOf } from "../../shared/verdict.ts";
import type { TunnelRow } from "../../tunnel/schema.ts";
import { knownOf, useAnswer } from "../answers.ts";
import { say } from "../language.ts";
import { ViewLink } from "../parts/link.tsx";
import { Pending } from "../parts/pending.tsx";
import { useConnecting } from "./servers/connecting.ts";
import { useDetails } from "./servers/details.ts";
import { ServerList } from "./servers/list.tsx";
import { ProviderChoice } from "./servers/provider-choice.tsx";
import { GetServers } from "./setup/get-servers.tsx";
import { PointHere } from "./setup/point-here.tsx";
import { Step } from "./setup/step.tsx";
import { ThisDevice, useSeen } from "./setup/this-device.tsx";

/** The steps from a gateway without a server to a protected device. */
export function Setup() {
  const providers = useAnswer("servers/counts");
  const servers = useAnswer("servers");
  const connecting = useConnecting();
  const details = useDetails();
  const isSeen = useSeen();
  const usable = Object.values(knownOf(providers)?.usable ?? {});
  const count = usable.reduce((sum, each) => sum + each, 0);
  const { main } = connecting;
  const isConnected = main != null && standingOf(main).state === "connected";
  const canChoose = usable.filter((each) => each > 0).length > 1;
  if (providers.state !== "ready") return <Pending of={providers} />;
  const { current } = providers.value;
  return (
    <div class="setup">
      <h1>{say("Set up the gateway")}</h1>
      <p>{say("Four steps until this device is protected.")}</p>
      <ol class="steps">
        <Step
          number={1}
          title={say("Add a server")}
          done={
            count > 0
              ? say("{count, plural, one {# server} other {# servers}} to choose from.", { count })
              : null
          }
          isOpen
        >
          <GetServers />
        </Step>
        <Step
          number={2}
          title={say("Connect")}
          done={isConnected ? connectedText(standingOf(main)) : null}
          isOpen={count > 0}
        >
          <p>
            {say(
              "Choose a place or a server. The gateway then makes a tunnel to it, through which the devices that use the gateway reach the internet. Devices that do not use it notice nothing.",
            )}
          </p>
          {(canChoose || providers.value.usable[current] === 0) && (
            <ProviderChoice providers={providers.value} />
          )}
          {servers.state === "ready" ? (
            <ServerList
              servers={servers.value}
              usable={providers.value.usable[servers.value.provider]}
              details={details}
              connecting={connecting}
            />
          ) : (
            <Pending of={servers} />
          )}
        </Step>
        <Step number={3} title={say("Point your devices here")} done={null} isOpen={isConnected}>
          <PointHere />
        </Step>
        <Step number={4} title={say("Check that it works")} done={null} isOpen={isConnected}>
          <ThisDevice isSeen={isSeen} />
          <ViewLink to="" class="button">
            {say("Go to Home")}
          </ViewLink>
        </Step>
      </ol>
    </div>
  );
}

function connectedText({ server, location }: TunnelRow): string {
  return location === ""
    ? say("Connected to {server}.", { server })
    : say("Connected to {server}, {place}.", { server, place: location });
}
