import { useState } from "preact/hooks";
import type { Network } from "../../../http/schema.ts";
import { useAnswer } from "../../answers.ts";
import { Pending } from "../../parts/pending.tsx";

type Whom = "home" | "device";

/** How devices come to use this gateway, with its own addresses. */
export function PointHere() {
  const network = useAnswer("network");
  const [whom, setWhom] = useState<Whom>("home");
  if (network.state !== "ready") return <Pending of={network} />;
  const optionOf = (value: Whom, label: string) => (
    <label class={whom === value ? "chosen" : ""}>
      <input type="radio" name="whom" checked={whom === value} onChange={() => setWhom(value)} />
      <span>{label}</span>
    </label>
  );
  return (
    <>
      <fieldset class="segments">
        <legend class="hidden">For whom</legend>
        <div class="segments-row">
          {optionOf("home", "The whole home")}
          {optionOf("device", "One device")}
        </div>
      </fieldset>
      <p>{WHERE[whom]}</p>
      <Addresses network={network.value} />
      <p>{THEN[whom]}</p>
      {isOneCable(network.value) && <p class="quiet">{IPV6}</p>}
    </>
  );
}

const WHERE: Readonly<Record<Whom, string>> = {
  home: "In the settings of your home router, look for DHCP, often under LAN or home network. Enter there:",
  device:
    "In the network settings of the device, choose manual or static addresses. Leave its own address and mask as they are, and enter:",
};

const THEN: Readonly<Record<Whom, string>> = {
  home: "Devices notice when they join the network again: turn their Wi-Fi off and on, or unplug their cable for a moment.",
  device: "On phones, these settings are in the details of the Wi-Fi network.",
};

const IPV6 =
  "Turn IPv6 off in the home router’s LAN settings. The gateway and the home router are on the same cable, so devices could otherwise use the home router’s IPv6, outside the tunnel.";

function isOneCable({ lan, uplink }: Network): boolean {
  return lan.some((each) => each.interface === uplink);
}

function Addresses({ network: { lan } }: { network: Network }) {
  const places = lan.flatMap(({ interface: name, addresses: [address], prefixes: [prefix] }) =>
    address === undefined ? [] : [{ name, address, prefix }],
  );
  if (places.length === 0)
    return <p class="outcome failed">The gateway has no address on the LAN. Look at its cable.</p>;
  return (
    <>
      {places.map(({ name, address, prefix }) => (
        <dl class="facts" key={name}>
          {places.length > 1 && (
            <div>
              <dt>For devices in</dt>
              <dd>{prefix ?? name}</dd>
            </div>
          )}
          <div>
            <dt>Router (gateway)</dt>
            <dd>
              <code>{address}</code>
            </dd>
          </div>
          <div>
            <dt>DNS server</dt>
            <dd>
              <code>{address}</code>
            </dd>
          </div>
        </dl>
      ))}
    </>
  );
}
