import type { DeviceList } from "../devices/schema.ts";
import type { KillSwitchLayers, Network } from "../http/schema.ts";
import type { Status, TunnelRow } from "../tunnel/schema.ts";
import { countOf, listOf, sentenceFrom, timeOf } from "./format.ts";
import type { Connection } from "./store.ts";

/** What is known; null is not known yet. */
export interface Known {
  connection: Connection;
  status: Status | null;
  tunnels: readonly TunnelRow[] | null;
  devices: DeviceList | null;
  killswitch: KillSwitchLayers | null;
  network: Network | null;
}

export type Tone = "protected" | "partly" | "blocked" | "exposed" | "working" | "unknown";

/** The one thing that helps. */
export type Help = "connect" | "cancel" | "killswitch";

/** The state of the home: a word, a sentence, why it is so, and what helps. */
export interface Sentence {
  tone: Tone;
  word: string;
  text: string;
  why: string | null;
  help: Help | null;
}

export function sentenceOf(known: Known): Sentence {
  const { connection, status } = known;
  if (connection.name === "lost")
    return {
      tone: "unknown",
      word: "No answer",
      text: `The gateway has not answered since ${timeOf(connection.since)}.`,
      why: "Whether it has power and its cables are plugged in, only you can see. Its kill switch stays in place while its service does not run.",
      help: null,
    };
  if (status === null)
    return {
      tone: "unknown",
      word: "Asking",
      text: "Waiting for the gateway’s answer…",
      why: null,
      help: null,
    };
  const broken = brokenLayers(known);
  if (broken.length > 0) return unprotected(known, broken);
  if (known.status?.connected === true) return connected(known, status);
  return unconnected(known, status);
}

/** The layers that do not block by themselves. */
function brokenLayers({ status, killswitch }: Known): readonly string[] {
  if (killswitch !== null) return killswitch.layers.filter(({ holds }) => !holds).map(({ name }) => name);
  return status?.killswitch_active === false ? ["firewall", "routing"] : [];
}

/** At least one of the two layers is not in place. */
function unprotected({ killswitch }: Known, broken: readonly string[]): Sentence {
  if (broken.length === 1)
    return {
      tone: "partly",
      word: "Weakened",
      text: `One of the kill switch’s two layers, the ${broken[0]}, is not in place. The other one still blocks what would leave outside a tunnel.`,
      why: killswitch?.error == null ? REPAIRED : sentenceFrom(killswitch.error),
      help: null,
    };
  const isOff = killswitch?.wanted === false;
  return {
    tone: "exposed",
    word: "Exposed",
    text: isOff
      ? "The kill switch is off, as the operator has chosen: traffic may leave outside the tunnel."
      : "The kill switch is not in place: traffic may leave outside the tunnel.",
    why: isOff ? null : REPAIRED,
    help: isOff ? "killswitch" : null,
  };
}

const REPAIRED = "The gateway repairs it by itself. If it stays so, another program undoes each repair.";

/** The tunnel main is up. */
function connected(known: Known, status: Status): Sentence {
  const used = usedTunnels(known);
  const silent = used.filter(({ state }) => state !== "connected");
  const places = used.filter(({ state }) => state === "connected").map(placeOf);
  const place = places.length === 0 ? status.location || status.server : listOf([...new Set(places)]);
  const why = silent.length === 0 ? null : `${silent.map(waiting).join(" ")}`;
  const direct = status.direct_devices;
  if (direct > 0)
    return {
      tone: "partly",
      word: "Protected, with exceptions",
      text: `${countOf(direct, "device leaves", "devices leave")} outside the tunnels, as the operator allows. Everything else leaves by ${place}.`,
      why,
      help: null,
    };
  if (known.devices?.default_exit === "blocked" && used.length === 0)
    return {
      tone: "blocked",
      word: "Blocked",
      text: `Connected to ${place}, but the exit of every device is “blocked”.`,
      why,
      help: null,
    };
  const rest = known.devices?.devices.some(({ exit }) => exit === "blocked") === true;
  return {
    tone: "protected",
    word: "Protected",
    text: rest ? `What leaves your home leaves by ${place}.` : `Everything at home leaves by ${place}.`,
    why,
    help: null,
  };
}

/** The tunnel main is not up, and the kill switch is in place. */
function unconnected(known: Known, { state, error }: Status): Sentence {
  const main = known.tunnels?.find(({ name }) => name === "main");
  const target = main?.wanted ?? "the server";
  const others = usedTunnels(known).filter((row) => row.name !== "main" && row.state === "connected");
  const rest =
    others.length === 0
      ? "Nothing leaves"
      : `Only devices with an exit of their own leave, by ${listOf(others.map(placeOf))}`;
  const offline =
    known.network?.online === false ? "The uplink is down: look at its cable and at the home router." : null;
  const why = offline ?? (error === null ? null : sentenceFrom(error));
  switch (state) {
    case "connecting":
      return {
        tone: "working",
        word: "Connecting",
        text: `Connecting to ${target}. Nothing leaves outside a tunnel meanwhile.`,
        why,
        help: "cancel",
      };
    case "reconnecting":
      return {
        tone: "blocked",
        word: "Blocked",
        text: `${rest}: ${target} does not answer. The gateway keeps trying.`,
        why,
        help: "connect",
      };
    case "failed":
      return {
        tone: "blocked",
        word: "Blocked",
        text: `${rest}: the tunnel to ${target} could not be made.`,
        why,
        help: "connect",
      };
    case "connected":
    case "disconnected":
      return {
        tone: "blocked",
        word: "Blocked",
        text: others.length === 0 ? "Nothing leaves: there is no tunnel." : `${rest}.`,
        why,
        help: "connect",
      };
  }
}

/** The tunnels that are the exit of a device, or of new devices. */
function usedTunnels({ tunnels, devices }: Known): readonly TunnelRow[] {
  if (tunnels === null || devices === null) return [];
  const exits = new Set([devices.default_exit, ...devices.devices.map(({ exit }) => exit)]);
  return tunnels.filter(({ name }) => exits.has(name));
}

export function placeOf({ location, server, wanted, name }: TunnelRow): string {
  return location || server || wanted || name;
}

function waiting({ name, devices, state }: TunnelRow): string {
  const who = devices === 0 ? "Its devices" : countOf(devices, "device");
  const are = devices === 1 ? "is" : "are";
  return `The tunnel ${name} is ${state}: ${who} ${are} blocked until it is connected.`;
}
