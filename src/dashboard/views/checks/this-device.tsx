import type { Checks } from "../../../checks/schema.ts";
import type { Device } from "../../../devices/schema.ts";
import { capital, tunnelTitle } from "../../../shared/words.ts";
import type { Status, TunnelRow } from "../../../tunnel/schema.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { downText, exitOf, titleOf } from "../../exit.ts";
import { bytesOf, rateOf } from "../../format.ts";
import { Icon, type IconName } from "../../parts/icon.tsx";
import { Pending } from "../../parts/pending.tsx";
import { useIsDiverted } from "../../protection.ts";
import { placeOf, type Tone } from "../../sentence.ts";
import { useDeviceCarried, useDeviceRate } from "../../traffic.ts";

/** Where the device leaves that shows this page, and what becomes of its DNS queries, as far as it can be known. */
export function ThisDevice() {
  const self = useAnswer("devices/self");
  const tunnels = knownOf(useAnswer("tunnels"))?.tunnels ?? [];
  const status = knownOf(useAnswer("status"));
  const checks = knownOf(useAnswer("checks"));
  const isDiverted = useIsDiverted();
  return (
    <section class="card this-device">
      <h2>This device</h2>
      {self.state !== "ready" && <Pending of={self} />}
      {self.state === "ready" &&
        (self.value.device === null ? (
          <p>
            The gateway does not know the device at {self.value.address}. It is the gateway itself, or it is
            behind another router or a proxy.
          </p>
        ) : (
          <Found {...{ device: self.value.device, tunnels, status, checks, isDiverted }} />
        ))}
    </section>
  );
}

interface FoundProps {
  device: Device;
  tunnels: readonly TunnelRow[];
  status: Status | null;
  checks: Checks | null;
  isDiverted: boolean;
}

interface Answer {
  icon: IconName;
  tone: Tone;
  title: string;
  text: string;
}

function Found(props: FoundProps) {
  const answers = [exitAnswer(props), dnsAnswer(props)];
  return (
    <>
      <ul class="rows">
        {answers.map(({ icon, tone, title, text }) => (
          <li key={title} class={`row tone-${tone}`}>
            <Icon name={icon} />
            <div>
              <strong>{title}</strong>
              <p>{text}</p>
            </div>
          </li>
        ))}
        <Carried device={props.device} />
      </ul>
      <p class="quiet small">
        The gateway sees only what comes its way. It cannot see whether this device has another way out, such
        as mobile data or another router at home.
      </p>
    </>
  );
}

function exitAnswer({ device, tunnels, status, isDiverted }: FoundProps): Answer {
  const isOff = status?.killswitch_active === false;
  if (isDiverted && device.exit !== "blocked")
    return {
      icon: "warning",
      tone: "partly",
      title: `${titleOf(device)} may have no internet`,
      text: "Another program’s routing rule leads what it sends past its exit, where the firewall stops it.",
    };
  const { icon, tone } = exitOf(device.exit, tunnels, isOff);
  const row = tunnels.find(({ name }) => name === device.exit);
  if (row?.state === "connected")
    return {
      icon,
      tone,
      title: `${titleOf(device)} leaves by ${placeOf(row)}${row.unanswered ? ", which carries nothing" : ""}`,
      text: `What it sends through the gateway goes into the ${tunnelTitle(row.name)}, and nowhere else.`,
    };
  if (device.exit === "direct")
    return {
      icon,
      tone,
      title: `${titleOf(device)} leaves directly`,
      text: "What it sends goes outside every tunnel, as allowed on the gateway. Your internet provider and the sites see your home’s own address.",
    };
  if (isOff)
    return {
      icon,
      tone,
      title: `${titleOf(device)} may leave outside the tunnel`,
      text: "The kill switch is not in place: what it sends may leave outside every tunnel.",
    };
  return {
    icon,
    tone,
    title: `${titleOf(device)} has no internet`,
    text:
      device.exit === "blocked"
        ? "Its exit is blocked: what it sends is refused at once."
        : `${capital(downText(device.exit, row))}: until it is connected, what the device sends is refused at once.`,
  };
}

function dnsAnswer({ device, tunnels, status, checks }: FoundProps): Answer {
  const row = tunnels.find(({ name }) => name === device.exit);
  if (row?.state === "connected") {
    const check = row.name === "main" ? checks?.checks.find(({ id }) => id === "dns") : undefined;
    const found = check === undefined ? "" : ` The last check: ${check.found}.`;
    return {
      icon: check?.result === "fault" || check?.result === "warning" ? "warning" : "shield",
      tone: check?.result === "fault" || check?.result === "warning" ? "partly" : "protected",
      title: "Its DNS queries go through the tunnel too",
      text: `Unencrypted queries, to the gateway or to a resolver on the internet, are answered by the tunnel’s resolver if its server names one.${found} DNS over HTTPS, which many browsers use, is ordinary traffic inside the tunnel: it reaches the resolver that the browser has chosen, from the VPN server’s address. A resolver of your own at home uses its own exit.`,
    };
  }
  if (device.exit === "direct")
    return {
      icon: "warning",
      tone: "partly",
      title: "Its DNS queries leave directly too",
      text: "Those to the gateway go to your internet provider’s resolvers, and the others where the device sends them.",
    };
  if (status?.killswitch_active === false)
    return {
      icon: "warning",
      tone: "exposed",
      title: "Its DNS queries may leave outside every tunnel",
      text: "Without the kill switch, nothing sends them into a tunnel.",
    };
  return {
    icon: "blocked",
    tone: "blocked",
    title: "Its DNS queries are refused",
    text: "Those to the gateway are refused too.",
  };
}

/** The evidence: what the gateway has forwarded for it. */
function Carried({ device }: { device: Device }) {
  const { rx, tx } = useDeviceCarried(device.id) ?? { rx: device.rx_bytes, tx: device.tx_bytes };
  const rate = useDeviceRate(device.id);
  if (tx === 0)
    return (
      <li class="row tone-unknown">
        <Icon name="unknown" />
        <div>
          <strong>The gateway has forwarded nothing from it yet</strong>
          <p>
            If it reaches the internet, it uses another router: enter the gateway there as its router and DNS
            server.
          </p>
        </div>
      </li>
    );
  const now = rate === null ? "" : ` Now it receives ${rateOf(rate.rx)} and sends ${rateOf(rate.tx)}.`;
  return (
    <li class="row tone-protected">
      <Icon name="good" />
      <div>
        <strong>It uses the gateway as its router</strong>
        <p>
          {bytesOf(rx)} have been forwarded to it and {bytesOf(tx)} from it.{now}
        </p>
      </div>
    </li>
  );
}
