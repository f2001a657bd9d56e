import { useRef } from "preact/hooks";
import type { DeviceList, OwnDevice } from "../../../devices/schema.ts";
import { isBlocked, isOutside } from "../../../shared/exits.ts";
import { standingOf } from "../../../shared/verdict.ts";
import { placeOf, type Tone } from "../../../shared/verdict-texts.ts";
import type { TunnelRow } from "../../../tunnel/schema.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { exitNow, usedUpText } from "../../exit.ts";
import { say } from "../../language.ts";
import { Icon } from "../../parts/icon.tsx";
import { Pending } from "../../parts/pending.tsx";
import { TONE_ICONS } from "../../parts/tone.ts";
import { useDeviceCarried } from "../../traffic.ts";

/** Whether the device that shows this page goes through a tunnel, judged by what the gateway forwards for it. */
export function ThisDevice({ isSeen }: { isSeen: boolean }) {
  const self = useAnswer("devices/self");
  const tunnels = useAnswer("tunnels");
  const list = knownOf(useAnswer("devices"));
  if (self.state !== "ready") return <Pending of={self} />;
  if (tunnels.state !== "ready") return <Pending of={tunnels} />;
  const { tone, word, text } = verdictOn(self.value, list, tunnels.value.tunnels, isSeen);
  return (
    <div class={`verdict tone-${tone}`} role="status">
      <h3>
        <Icon name={TONE_ICONS[tone]} /> {word}
      </h3>
      <p>{text}</p>
    </div>
  );
}

/** Whether the gateway has forwarded something of this device since the view was opened: before the tunnel is up. */
export function useSeen(): boolean {
  const self = knownOf(useAnswer("devices/self"));
  const first = useRef<{ id: string | null; sent: number } | null>(null);
  const carried = useDeviceCarried(self?.device?.id ?? "");
  if (self === null) return false;
  const { device } = self;
  // A device that the gateway does not know yet has sent nothing before.
  first.current ??= { id: device?.id ?? null, sent: device?.tx_bytes ?? 0 };
  if (device === null) return false;
  first.current.id ??= device.id;
  if (first.current.id !== device.id) first.current = { id: device.id, sent: device.tx_bytes };
  return Math.max(carried?.tx ?? 0, device.tx_bytes) > first.current.sent;
}

interface Verdict {
  tone: Tone;
  word: string;
  text: string;
}

function verdictOn(
  { device, address }: OwnDevice,
  list: DeviceList | null,
  tunnels: readonly TunnelRow[],
  isSeen: boolean,
): Verdict {
  if (device === null)
    return {
      tone: "unknown",
      word: say("Not known"),
      text: say(
        "The gateway does not know the device with the address {address}. Open this page on a device at home that is not behind another router.",
        { address },
      ),
    };
  if (exitNow(device, list) !== device.exit)
    return { tone: "blocked", word: say("Blocked"), text: usedUpText() };
  if (isOutside(device.exit))
    return {
      tone: "partly",
      word: say("Direct"),
      text: say("This device leaves outside every tunnel, as you allowed on the gateway."),
    };
  if (isBlocked(device.exit))
    return {
      tone: "blocked",
      word: say("Blocked"),
      text: say("The exit of this device is “blocked”: nothing leaves."),
    };
  const tunnel = tunnels.map(standingOf).find(({ name }) => name === device.exit);
  if (tunnel?.state !== "connected")
    return {
      tone: "blocked",
      word: say("Blocked"),
      text: say(
        "This device goes through the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}}, which is not connected: nothing leaves.",
        { tunnel: device.exit },
      ),
    };
  if (tunnel.unanswered)
    return {
      tone: "partly",
      word: say("No internet"),
      text: say("This device is protected, but no data gets through {place}. Try another server.", {
        place: placeOf(tunnel),
      }),
    };
  if (!isSeen)
    return {
      tone: "working",
      word: say("Waiting for this device"),
      text: say(
        "Open any website in another tab. Nothing from this device has passed through the gateway since you opened this page.",
      ),
    };
  return {
    tone: "protected",
    word: say("This device is protected"),
    text: say("What it sends to the internet goes through {place}.", { place: placeOf(tunnel) }),
  };
}
