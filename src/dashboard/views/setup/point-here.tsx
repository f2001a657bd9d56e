import type { Network } from "../../../http/schema.ts";
import { useAnswer } from "../../answers.ts";
import { listOf } from "../../format.ts";
import { useKept } from "../../kept.ts";
import { say } from "../../language.ts";
import { OnGateway, useSetup } from "../../parts/on-gateway.tsx";
import { Pending } from "../../parts/pending.tsx";

type Scope = "home" | "device";

/** How devices come to use this gateway, with its own addresses. */
export function PointHere() {
  const network = useAnswer("network");
  const [whom, setWhom] = useKept<Scope>("whom", "home");
  if (network.state !== "ready") return <Pending of={network} />;
  const optionOf = (value: Scope, label: string) => (
    <label class={whom === value ? "chosen" : ""}>
      <input type="radio" name="whom" checked={whom === value} onChange={() => setWhom(value)} />
      <span>{label}</span>
    </label>
  );
  return (
    <>
      <fieldset class="segments">
        <legend class="hidden">{say("For whom")}</legend>
        <div class="segments-row">
          {optionOf("home", say("The whole home"))}
          {optionOf("device", say("One device"))}
        </div>
      </fieldset>
      {whom === "home" ? <WholeHome network={network.value} /> : <OneDevice network={network.value} />}
    </>
  );
}

function WholeHome({ network }: { network: Network }) {
  return (
    <>
      <p>
        <strong>
          {say(network.dhcp ? "The gateway gives addresses: on." : "The gateway gives addresses: off.")}
        </strong>
      </p>
      {network.dhcp ? <Given network={network} /> : <ToBeGiven network={network} />}
    </>
  );
}

/** Devices get their addresses from the gateway. */
function Given({ network }: { network: Network }) {
  return (
    <>
      <p>
        {say(
          "Devices learn from the gateway which router and DNS server to use. There is nothing to enter, neither on them nor in the home router.",
        )}
      </p>
      <ol class="how">
        <li>{isOneCable(network) ? ROUTER_OFF : behindCard(network)}</li>
        <li>{AGAIN}</li>
      </ol>
    </>
  );
}

/** Devices get their addresses from the home router. */
function ToBeGiven({ network }: { network: Network }) {
  return (
    <>
      <p>
        {say(
          "Devices learn from your home router which router to use, and most home routers can name only themselves. So let the gateway give the addresses instead:",
        )}
      </p>
      <ol class="how">
        {isOneCable(network) && (
          <>
            <li>
              {say(
                "Give the gateway a fixed address that devices do not get. Otherwise it loses its address with the next step.",
              )}
            </li>
            <li>{ROUTER_OFF}</li>
          </>
        )}
        <li>
          <OnGateway commands={[`${useSetup()} --dhcp`]} />
        </li>
        {!isOneCable(network) && <li>{behindCard(network)}</li>}
        <li>{AGAIN}</li>
      </ol>
      {isOneCable(network) && (
        <details>
          <summary>{say("If your home router can announce another router")}</summary>
          <p>{say("Leave its DHCP on, and enter in its DHCP settings:")}</p>
          <Addresses network={network} />
          <p>{IPV6}</p>
          <p>{AGAIN}</p>
        </details>
      )}
    </>
  );
}

function OneDevice({ network }: { network: Network }) {
  return (
    <>
      <p>
        {say(
          "In the network settings of the device, choose manual or static addresses. Leave its own address and mask as they are, and enter:",
        )}
      </p>
      <Addresses network={network} />
      <p>{say("On phones, these settings are in the details of the Wi-Fi network.")}</p>
      {isOneCable(network) && <p class="quiet">{IPV6}</p>}
    </>
  );
}

const ROUTER_OFF = say(
  "In the home router, switch off DHCP, and IPv6 for the LAN (“router advertisements” and “DHCPv6”): devices could otherwise get their addresses there, and leave outside the tunnel.",
);

const AGAIN = say("Connect each device again: its Wi-Fi or its cable off for ten seconds, and on.");

const IPV6 = say(
  "Switch IPv6 off in the home router’s LAN settings. The gateway and the home router are on the same cable, so devices could otherwise use the home router’s IPv6, outside the tunnel.",
);

function behindCard({ lan }: Network): string {
  const cards = lan.map((each) => each.interface);
  return cards.length === 0
    ? say(
        "Connect all devices to the gateway at its second network card, by a switch or an access point, and switch off the home router’s own Wi-Fi: what uses that is not behind the gateway.",
      )
    : say(
        "Connect all devices to the gateway at its network card {cards}, by a switch or an access point, and switch off the home router’s own Wi-Fi: what uses that is not behind the gateway.",
        { cards: listOf(cards) },
      );
}

function isOneCable({ lan, uplink }: Network): boolean {
  return lan.some((each) => each.interface === uplink);
}

function Addresses({ network: { lan } }: { network: Network }) {
  const places = lan.flatMap(({ interface: name, addresses: [address], prefixes: [prefix] }) =>
    address === undefined ? [] : [{ name, address, prefix }],
  );
  if (places.length === 0)
    return <p class="outcome failed">{say("The gateway has no address on the LAN. Look at its cable.")}</p>;
  return (
    <>
      {places.map(({ name, address, prefix }) => (
        <dl class="facts" key={name}>
          {places.length > 1 && (
            <div>
              <dt>{say("For devices in")}</dt>
              <dd>{prefix ?? name}</dd>
            </div>
          )}
          <div>
            <dt>{say("Router (gateway)")}</dt>
            <dd>
              <code>{address}</code>
            </dd>
          </div>
          <div>
            <dt>{say("DNS server")}</dt>
            <dd>
              <code>{address}</code>
            </dd>
          </div>
        </dl>
      ))}
    </>
  );
}
