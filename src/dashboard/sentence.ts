import type { Destination } from "../destinations/schema.ts";
import type { DeviceList } from "../devices/schema.ts";
import type { KillSwitchLayers, Network } from "../http/schema.ts";
import { STATE_WORDS, tunnelTitle } from "../shared/words.ts";
import type { Status, TunnelRow } from "../tunnel/schema.ts";
import type { Connection } from "./connection.ts";
import { targetsOf } from "./destination.ts";
import { countOf, listOf, sentenceFrom, someOf, timeOf } from "./format.ts";

/** What is known; null is not known yet. */
export interface Known {
  connection: Connection;
  status: Status | null;
  tunnels: readonly TunnelRow[] | null;
  devices: DeviceList | null;
  killswitch: KillSwitchLayers | null;
  /** Why the kill switch's layers could not be read, if so: then it is not known whether they hold. */
  unread?: string | null;
  network: Network | null;
  destinations: readonly Destination[] | null;
}

export type Tone = "protected" | "partly" | "blocked" | "exposed" | "working" | "unknown";

/** The one thing that helps. */
export type Help = "connect" | "another" | "cancel" | "killswitch";

/** The state of the home: a word, a sentence, why it is so, and what helps. */
export interface Sentence {
  tone: Tone;
  word: string;
  text: string;
  why: string | null;
  help: Help | null;
  /** What to type on the gateway, if only that helps. */
  command?: string;
}

export function sentenceOf(known: Known): Sentence {
  const { connection, status } = known;
  if (connection.name === "lost")
    return {
      tone: "unknown",
      word: "No answer",
      text: `The gateway has not answered since ${timeOf(connection.since)}.`,
      why: "Check that it has power and that its cables are plugged in. The kill switch stays in place even if the gateway’s service has stopped.",
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
  if (known.unread != null) return unreadable(known.unread);
  const broken = brokenLayers(known);
  if (broken.length > 0 || known.killswitch?.wanted === false) return unprotected(known, broken);
  return withExceptions(waysOut(known, status), exceptionsIn(known, status));
}

/** What leaves by tunnels, while the kill switch is in place. */
function waysOut(known: Known, status: Status): Sentence {
  const used = usedTunnels(known);
  if (used === null) return status.connected ? leaving([], known, status) : unconnected(known, status);
  if (used.length === 0) return allBlocked(known, status);
  const isMainUsed = used.some(({ name }) => name === "main");
  if (isMainUsed && !status.connected) return unconnected(known, status);
  return used.some(isUp) ? leaving(used, known, status) : silent(used, known, status);
}

function unreadable(why: string): Sentence {
  return {
    tone: "unknown",
    word: "Not known",
    text: "The gateway could not say whether the kill switch is in place. The page asks again.",
    why,
    help: null,
  };
}

/** How many devices leave outside the tunnels. */
function directIn({ killswitch }: Known, { direct_devices }: Status): number {
  return killswitch?.direct_devices ?? direct_devices;
}

/** What leaves outside the tunnels whatever they do, as a part of a sentence; null if nothing does. */
function exceptionsIn(known: Known, status: Status): string | null {
  const devices = directIn(known, status);
  const rules = (known.destinations ?? []).filter(({ exit, open }) => exit === "direct" && open);
  const who = countOf(devices, "device leaves", "devices leave");
  const allowed = "outside the tunnels, as allowed on the gateway";
  if (rules.length === 0) return devices === 0 ? null : `${who} ${allowed}`;
  const traffic = `traffic to ${someOf(rules.flatMap(targetsOf), MAX_TARGETS)}`;
  return devices === 0
    ? `${traffic.replace("t", "T")} leaves ${allowed}`
    : `${who} ${allowed}, and so does ${traffic}`;
}

/** Of the destinations that leave directly, so many are named. */
const MAX_TARGETS = 3;

function withExceptions(sentence: Sentence, exceptions: string | null): Sentence {
  const { tone, word, text } = sentence;
  if (exceptions === null) return sentence;
  return {
    ...sentence,
    tone: tone === "protected" || tone === "blocked" ? "partly" : tone,
    word: `${word}, with exceptions`,
    text: `${exceptions}. ${text}`,
  };
}

/** The layers that do not block by themselves. */
function brokenLayers({ status, killswitch }: Known): readonly string[] {
  if (killswitch !== null) return killswitch.layers.filter(({ holds }) => !holds).map(({ name }) => name);
  return status?.killswitch_active === false ? ["firewall", "routing"] : [];
}

/** At least one of the two layers is not in place. */
function unprotected({ killswitch }: Known, broken: readonly string[]): Sentence {
  const isOff = killswitch?.wanted === false;
  const rule = ruleAhead(killswitch);
  if (broken.length === 1 && !isOff && rule !== null)
    return {
      tone: "partly",
      word: "Weakened",
      text: "Another program’s routing rule leads devices past the tunnel, where the firewall stops them: they may have no internet.",
      why: sentenceFrom(rule.found),
      help: null,
      command: rule.remedy,
    };
  if (broken.length === 1 && !isOff)
    return {
      tone: "partly",
      word: "Weakened",
      text: `One of the kill switch’s two layers, the ${broken[0]}, is not in place. The other one still blocks what would leave outside a tunnel.`,
      why: killswitch?.error == null ? REPAIRED : sentenceFrom(killswitch.error),
      help: null,
    };
  return {
    tone: "exposed",
    word: "Exposed",
    text: isOff
      ? "The kill switch was turned off on the gateway: traffic may leave outside the tunnel."
      : "The kill switch is not in place: traffic may leave outside the tunnel.",
    why: isOff ? null : REPAIRED,
    help: isOff ? "killswitch" : null,
  };
}

/** What only a person can end. */
export function ruleAhead(killswitch: KillSwitchLayers | null): { found: string; remedy: string } | null {
  const parts = killswitch?.layers.flatMap((layer) => layer.parts) ?? [];
  const part = parts.find(({ holds, remedy }) => !holds && remedy !== undefined);
  return part?.remedy === undefined ? null : { found: part.found, remedy: part.remedy };
}

const REPAIRED = "The gateway repairs it by itself. If it stays so, another program undoes each repair.";

/** What leaves, leaves by a tunnel; `used` are those that are an exit, if that is known. */
function leaving(used: readonly TunnelRow[], known: Known, status: Status): Sentence {
  const { devices } = known;
  const up = used.filter(isUp);
  const working = up.filter(({ unanswered }) => !unanswered);
  const isEmpty = up.length === 0 ? status.unanswered : working.length === 0;
  if (isEmpty) return carryingNothing(up, status);
  const places = working.map(placeOf);
  const [only, ...more] = working;
  const via = only === undefined ? status.via : more.length === 0 ? only.via : undefined;
  const place = places.length === 0 ? status.location || status.server : placesOf(places);
  const down = used.filter((row) => !isUp(row));
  // If the exits were lost, the default one is blocked until a person chooses.
  const lost = devices?.default_exit === "blocked" ? reasonIn(status) : null;
  const troubles = [...down.map(waiting), ...up.filter(({ unanswered }) => unanswered).map(unheard)];
  const why = troubles.length === 0 ? lost : troubles.join(" ");
  const exits = [devices?.default_exit, ...(devices?.devices ?? []).map(({ exit }) => exit)];
  const others = exceptionsIn(known, status) !== null;
  const what = exits.includes("blocked")
    ? `Everything${others ? " else" : ""} that is not blocked`
    : `Everything ${others ? "else" : "at home"}`;
  return {
    tone: "protected",
    word: "Protected",
    text: `${what} leaves by ${viaText(place, via)}.`,
    why,
    help: null,
  };
}

/** The server answers handshakes, so the tunnel is up, and nothing else comes back. */
function carryingNothing(up: readonly TunnelRow[], status: Status): Sentence {
  const places = up.length === 0 ? [status.location || status.server] : up.map(placeOf);
  return {
    tone: "partly",
    word: "Carries nothing",
    text: `Protected, but ${listOf([...new Set(places.map(cityOf))])} carries nothing. Try another server.`,
    why: reasonIn(up[0] ?? status),
    help: "another",
  };
}

/** Beside what leaves directly, nothing else does. */
function nothingLeaves(known: Known, status: Status): string {
  return exceptionsIn(known, status) !== null ? "Nothing else leaves" : "Nothing leaves";
}

function allBlocked(known: Known, status: Status): Sentence {
  const each = directIn(known, status) > 0 ? "every other one" : "every device";
  return {
    tone: "blocked",
    word: "Blocked",
    text: `${nothingLeaves(known, status)}: the exit of ${each} is “blocked”.`,
    why: reasonIn(status),
    help: null,
  };
}

/** The exits are other tunnels than main, and none of them is up. */
function silent(used: readonly TunnelRow[], known: Known, status: Status): Sentence {
  return {
    tone: "blocked",
    word: "Blocked",
    text: `${nothingLeaves(known, status)}.`,
    why: used.map(waiting).join(" "),
    help: null,
  };
}

/** The tunnel main is not up, and the kill switch is in place. */
function unconnected(known: Known, status: Status): Sentence {
  const { state, error } = status;
  const nothing = nothingLeaves(known, status);
  const main = known.tunnels?.find(({ name }) => name === "main");
  const target = main === undefined ? "the server" : (targetOf(main) ?? "the server");
  const others = (usedTunnels(known) ?? []).filter((row) => row.name !== "main" && isUp(row));
  const rest =
    others.length === 0
      ? nothing
      : `Only devices with an exit of their own leave, by ${placesOf(others.map(placeOf))}`;
  const offline =
    known.network?.online === false ? "The uplink is down: look at its cable and at the home router." : null;
  const why = offline ?? reasonIn({ error });
  switch (state) {
    case "connecting":
      return {
        tone: "working",
        word: "Connecting",
        text: `Connecting to ${target}. ${nothing} outside a tunnel meanwhile.`,
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
        text: `${rest}: the tunnel to ${target} could not be set up.`,
        why,
        help: "connect",
      };
    case "connected":
    case "disconnected":
      return {
        tone: "blocked",
        word: "Blocked",
        text: others.length === 0 ? `${nothing}: there is no tunnel.` : `${rest}.`,
        why,
        help: "connect",
      };
  }
}

function reasonIn({ error }: Pick<Status, "error">): string | null {
  return error === null ? null : sentenceFrom(error);
}

/** The tunnels that are the exit of a device, or of new devices; null if it is not known. */
function usedTunnels({ tunnels, devices }: Known): readonly TunnelRow[] | null {
  if (tunnels === null || devices === null) return null;
  const exits = new Set([devices.default_exit, ...devices.devices.map(({ exit }) => exit)]);
  return tunnels.filter(({ name }) => exits.has(name));
}

function isUp({ state }: TunnelRow): boolean {
  return state === "connected";
}

/** One place in full; of several only the cities, because a place has a comma of its own. */
function placesOf(places: readonly string[]): string {
  const different = [...new Set(places)];
  return different.length < 2 ? listOf(different) : listOf(different.map(cityOf));
}

export function cityOf(place: string): string {
  return place.replace(/,.*/, "");
}

export function placeOf({ location, server, wanted, name }: TunnelRow): string {
  return location || server || wanted || name;
}

/** Where a tunnel should lead; null if nowhere. */
export function targetOf({ wanted, wanted_via }: TunnelRow): string | null {
  return wanted === null ? null : viaText(wanted, wanted_via);
}

/** With the server through which it is reached, if any. */
export function viaText(text: string, via: string | undefined): string {
  if (via === undefined) return text;
  return text.includes(",") ? `${text}, via ${via}` : `${text} via ${via}`;
}

function waiting({ name, devices, state }: TunnelRow): string {
  const who = devices === 0 ? "its devices" : countOf(devices, "device");
  const are = devices === 1 ? "is" : "are";
  return `The ${tunnelTitle(name)} ${STATE_WORDS[state]}: ${who} ${are} blocked until it is connected.`;
}

function unheard(row: TunnelRow): string {
  const who = row.devices === 0 ? "its devices" : countOf(row.devices, "device");
  return `The ${tunnelTitle(row.name)} carries nothing: ${who} ${row.devices === 1 ? "has" : "have"} no internet.`;
}
