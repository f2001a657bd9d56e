import type { Checks } from "../../../checks/schema.ts";
import type { Device, DeviceList } from "../../../devices/schema.ts";
import { isBlocked, isOutside } from "../../../shared/exits.ts";
import { standingOf } from "../../../shared/verdict.ts";
import { placeOf, type Tone } from "../../../shared/verdict-texts.ts";
import type { TunnelRow } from "../../../tunnel/schema.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { foundText } from "../../codes.ts";
import { downSentence } from "../../down.ts";
import { exitNow, exitOf, titleOf, usedUpText } from "../../exit.ts";
import { bytesOf, rateOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Icon, type IconName } from "../../parts/icon.tsx";
import { Pending } from "../../parts/pending.tsx";
import { Told } from "../../parts/told.tsx";
import { useIsDiverted, useIsExposed } from "../../protection.ts";
import { useDeviceCarried, useDeviceRate } from "../../traffic.ts";

/** Where the device leaves that shows this page, and what becomes of its DNS queries, as far as it can be known. */
export function ThisDevice() {
  const self = useAnswer("devices/self");
  const rows = useAnswer("tunnels");
  const checks = knownOf(useAnswer("checks"));
  const list = knownOf(useAnswer("devices"));
  const isDiverted = useIsDiverted();
  const isOff = useIsExposed();
  return (
    <section class="card this-device">
      <h2>{say("This device")}</h2>
      {self.state !== "ready" && <Pending of={self} />}
      {self.state === "ready" && rows.state !== "ready" && <Pending of={rows} />}
      {self.state === "ready" &&
        rows.state === "ready" &&
        (self.value.device === null ? (
          <p>
            {say(
              "The gateway does not know the device at {address}. It is the gateway itself, or it is behind another router or a proxy.",
              { address: self.value.address },
            )}
          </p>
        ) : (
          <Found
            {...{ device: self.value.device, list, isOff, checks, isDiverted }}
            tunnels={rows.value.tunnels.map(standingOf)}
          />
        ))}
    </section>
  );
}

interface FoundProps {
  device: Device;
  list: DeviceList | null;
  tunnels: readonly TunnelRow[];
  /** Whether it might leave outside the tunnels. */
  isOff: boolean;
  checks: Checks | null;
  isDiverted: boolean;
}

interface Answer {
  icon: IconName;
  tone: Tone;
  title: string;
  text: string;
  /** What the last check has found, in the gateway's words. */
  found?: string;
  /** More, after what the gateway says in its own words. */
  more?: string;
}

function Found(props: FoundProps) {
  const answers = [exitAnswer(props), dnsAnswer(props)];
  return (
    <>
      <ul class="rows">
        {answers.map(({ icon, tone, title, text, found, more }) => (
          <li key={title} class={`row tone-${tone}`}>
            <Icon name={icon} />
            <div>
              <strong>{title}</strong>
              <p>
                {text}
                {found !== undefined && (
                  <>
                    {" "}
                    {say("The last check:")} <Told text={found} />
                  </>
                )}
                {more !== undefined && ` ${more}`}
              </p>
            </div>
          </li>
        ))}
        <Carried device={props.device} />
      </ul>
      <p class="quiet small">
        {say(
          "The gateway sees only what comes its way. It cannot see whether this device has another way out, such as mobile data or another router at home.",
        )}
      </p>
    </>
  );
}

function exitAnswer({ device, list, tunnels, isOff, isDiverted }: FoundProps): Answer {
  const title = titleOf(device);
  if (exitNow(device, list) !== device.exit)
    return {
      icon: "blocked",
      tone: "blocked",
      title: say("{title} has no internet", { title }),
      text: usedUpText(),
    };
  if (isDiverted && !isBlocked(device.exit))
    return {
      icon: "warning",
      tone: "partly",
      title: say("{title} might have no internet", { title }),
      text: say(
        "Another program’s routing rule leads what it sends past its exit, where the firewall stops it.",
      ),
    };
  const { icon, tone } = exitOf(device.exit, tunnels, isOff);
  const row = tunnels.find(({ name }) => name === device.exit);
  if (row?.state === "connected")
    return {
      icon,
      tone,
      title: row.unanswered
        ? say("{title} goes through {place}, which carries no data", { title, place: placeOf(row) })
        : say("{title} goes through {place}", { title, place: placeOf(row) }),
      text: say(
        "What it sends through the gateway goes into the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}}, and nowhere else.",
        { tunnel: row.name },
      ),
    };
  if (isOutside(device.exit))
    return {
      icon,
      tone,
      title: say("{title} leaves directly", { title }),
      text: say(
        "What it sends goes outside every tunnel, as allowed on the gateway. Your internet provider and the sites see your home’s own address.",
      ),
    };
  if (isOff)
    return {
      icon,
      tone,
      title: say("{title} might leave outside the tunnel", { title }),
      text: say("The kill switch is not in place: what it sends might leave outside every tunnel."),
    };
  return {
    icon,
    tone,
    title: say("{title} has no internet", { title }),
    text: isBlocked(device.exit)
      ? say("Its exit is blocked: what it sends is refused at once.")
      : say("{reason}: until it is connected, what the device sends is refused at once.", {
          reason: downSentence(device.exit, row),
        }),
  };
}

function dnsAnswer({ device, tunnels, isOff, checks }: FoundProps): Answer {
  const row = tunnels.find(({ name }) => name === device.exit);
  if (row?.state === "connected") {
    const check = row.name === "main" ? checks?.checks.find(({ id }) => id === "dns") : undefined;
    return {
      icon: check?.result === "fault" || check?.result === "warning" ? "warning" : "shield",
      tone: check?.result === "fault" || check?.result === "warning" ? "partly" : "protected",
      title: say("Its DNS queries go through the tunnel, too"),
      text: say(
        "Unencrypted queries, to the gateway or to a resolver on the internet, are answered by the tunnel’s resolver if its server names one.",
      ),
      ...(check !== undefined && { found: foundText(check) }),
      more: say(
        "DNS over HTTPS, which many browsers use, is ordinary traffic inside the tunnel: it reaches the resolver that the browser has chosen, from the VPN server’s address. A resolver of your own at home uses its own exit.",
      ),
    };
  }
  if (isOutside(device.exit))
    return {
      icon: "warning",
      tone: "partly",
      title: say("Its DNS queries leave directly too"),
      text: say(
        "Those to the gateway go to your internet provider’s resolvers, and the others where the device sends them.",
      ),
    };
  if (isOff)
    return {
      icon: "warning",
      tone: "exposed",
      title: say("Its DNS queries might leave outside every tunnel"),
      text: say("Without the kill switch, nothing sends them into a tunnel."),
    };
  return {
    icon: "blocked",
    tone: "blocked",
    title: say("Its DNS queries are refused"),
    text: say("Those to the gateway are refused too."),
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
          <strong>{say("The gateway has forwarded nothing from it yet")}</strong>
          <p>
            {say(
              "If it reaches the internet, it uses another router: enter the gateway there as its router and DNS server.",
            )}
          </p>
        </div>
      </li>
    );
  return (
    <li class="row tone-protected">
      <Icon name="good" />
      <div>
        <strong>{say("It uses the gateway as its router")}</strong>
        <p>
          {say("{received} have been forwarded to it and {sent} from it.", {
            received: bytesOf(rx),
            sent: bytesOf(tx),
          })}
          {rate !== null &&
            ` ${say("Now it receives {received} and sends {sent}.", {
              received: rateOf(rate.rx),
              sent: rateOf(rate.tx),
            })}`}
        </p>
      </div>
    </li>
  );
}
