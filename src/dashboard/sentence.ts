import type { Destination } from "../destinations/schema.ts";
import type { DeviceList } from "../devices/schema.ts";
import type { KillSwitchLayers, Network } from "../http/schema.ts";
import type { Status, TunnelRow } from "../tunnel/schema.ts";
import { inItsWords } from "./codes.ts";
import type { Connection } from "./connection.ts";
import { targetsOf } from "./destination.ts";
import { downSentence } from "./down.ts";
import { listOf, sentenceFrom, someOf, timeOf } from "./format.ts";
import { say } from "./language.ts";

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
      word: say("No answer"),
      text: say("The gateway has not answered since {time}.", { time: timeOf(connection.since) }),
      why: say(
        "Check that it has power and that its cables are plugged in. The kill switch stays in place even if the gateway’s service has stopped.",
      ),
      help: null,
    };
  if (status === null)
    return {
      tone: "unknown",
      word: say("Asking"),
      text: say("Waiting for the gateway’s answer…"),
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
    word: say("Not known"),
    text: say("The gateway could not say whether the kill switch is in place. The page asks again."),
    why,
    help: null,
  };
}

/** How many devices leave outside the tunnels. */
function directIn({ killswitch }: Known, { direct_devices }: Status): number {
  return killswitch?.direct_devices ?? direct_devices;
}

/** What leaves outside the tunnels whatever they do, as a sentence; null if nothing does. */
function exceptionsIn(known: Known, status: Status): string | null {
  const count = directIn(known, status);
  const rules = (known.destinations ?? []).filter(({ exit, open }) => exit === "direct" && open);
  const targets = someOf(rules.flatMap(targetsOf), MAX_TARGETS);
  if (rules.length === 0)
    return count === 0
      ? null
      : say(
          "{count, plural, one {# device leaves} other {# devices leave}} outside the tunnels, as allowed on the gateway.",
          { count },
        );
  return count === 0
    ? say("Traffic to {targets} leaves outside the tunnels, as allowed on the gateway.", { targets })
    : say(
        "{count, plural, one {# device leaves} other {# devices leave}} outside the tunnels, as allowed on the gateway, and so does traffic to {targets}.",
        { count, targets },
      );
}

/** Of the destinations that leave directly, so many are named. */
const MAX_TARGETS = 3;

function withExceptions(sentence: Sentence, exceptions: string | null): Sentence {
  const { tone, word, text } = sentence;
  if (exceptions === null) return sentence;
  return {
    ...sentence,
    tone: tone === "protected" || tone === "blocked" ? "partly" : tone,
    word: say("{word}, with exceptions", { word }),
    text: `${exceptions} ${text}`,
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
      word: say("Weakened"),
      text: say(
        "Another program’s routing rule leads devices past the tunnel, where the firewall stops them: they may have no internet.",
      ),
      why: inItsWords(sentenceFrom(rule.found)),
      help: null,
      command: rule.remedy,
    };
  if (broken.length === 1 && !isOff)
    return {
      tone: "partly",
      word: say("Weakened"),
      text: say(
        "One of the kill switch’s two layers, the {layer, select, firewall {firewall} other {routing}}, is not in place. The other one still blocks what would leave outside a tunnel.",
        { layer: broken[0] ?? "" },
      ),
      why: killswitch?.error == null ? REPAIRED : inItsWords(sentenceFrom(killswitch.error)),
      help: null,
    };
  return {
    tone: "exposed",
    word: say("Exposed"),
    text: isOff
      ? say("The kill switch was turned off on the gateway: traffic may leave outside the tunnel.")
      : say("The kill switch is not in place: traffic may leave outside the tunnel."),
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

const REPAIRED = say("The gateway repairs it by itself. If it stays so, another program undoes each repair.");

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
  const others = exceptionsIn(known, status) === null ? "home" : "else";
  return {
    tone: "protected",
    word: say("Protected"),
    text: say(
      "{what, select, home {Everything at home} else {Everything else} open {Everything that is not blocked} other {Everything else that is not blocked}} leaves by {place}.",
      {
        what: exits.includes("blocked") ? (others === "home" ? "open" : "other") : others,
        place: viaText(place, via),
      },
    ),
    why,
    help: null,
  };
}

/** The server answers handshakes, so the tunnel is up, and nothing else comes back. */
function carryingNothing(up: readonly TunnelRow[], status: Status): Sentence {
  const places = up.length === 0 ? [status.location || status.server] : up.map(placeOf);
  return {
    tone: "partly",
    word: say("Carries nothing"),
    text: say("Protected, but {places} carries nothing. Try another server.", {
      places: listOf([...new Set(places.map(cityOf))]),
    }),
    why: reasonIn(up[0] ?? status),
    help: "another",
  };
}

/** Beside what leaves directly, nothing else does. */
function othersIn(known: Known, status: Status): "else" | "none" {
  return exceptionsIn(known, status) !== null ? "else" : "none";
}

function allBlocked(known: Known, status: Status): Sentence {
  return {
    tone: "blocked",
    word: say("Blocked"),
    text: say(
      "{others, select, devices {Nothing else leaves: the exit of every other one is “blocked”.} else {Nothing else leaves: the exit of every device is “blocked”.} other {Nothing leaves: the exit of every device is “blocked”.}}",
      { others: directIn(known, status) > 0 ? "devices" : othersIn(known, status) },
    ),
    why: reasonIn(status),
    help: null,
  };
}

/** The exits are other tunnels than main, and none of them is up. */
function silent(used: readonly TunnelRow[], known: Known, status: Status): Sentence {
  return {
    tone: "blocked",
    word: say("Blocked"),
    text: say("{others, select, else {Nothing else leaves.} other {Nothing leaves.}}", {
      others: othersIn(known, status),
    }),
    why: used.map(waiting).join(" "),
    help: null,
  };
}

/** The tunnel main is not up, and the kill switch is in place. */
function unconnected(known: Known, status: Status): Sentence {
  const { state, error } = status;
  const main = known.tunnels?.find(({ name }) => name === "main");
  const target = main === undefined ? null : targetOf(main);
  const up = (usedTunnels(known) ?? []).filter((row) => row.name !== "main" && isUp(row));
  const rest = {
    rest: up.length > 0 ? "some" : othersIn(known, status),
    places: placesOf(up.map(placeOf)),
    known: target === null ? "no" : "yes",
    target: target ?? "",
  };
  const why = known.network?.online === false ? OFFLINE : reasonIn({ error });
  if (state === "connecting")
    return {
      tone: "working",
      word: say("Connecting"),
      text: connectingText(target, othersIn(known, status)),
      why,
      help: "cancel",
    };
  const text =
    state === "reconnecting" ? silentText(rest) : state === "failed" ? failedText(rest) : goneText(rest);
  return { tone: "blocked", word: say("Blocked"), text, why, help: "connect" };
}

const OFFLINE = say("The uplink is down: look at its cable and at the home router.");

/** What leaves without the tunnel main, and where that should lead. */
type Rest = Record<"rest" | "places" | "known" | "target", string>;

function connectingText(target: string | null, others: "else" | "none"): string {
  return say(
    "{known, select, yes {Connecting to {target}.} other {Connecting to the server.}} {others, select, else {Nothing else leaves} other {Nothing leaves}} outside a tunnel meanwhile.",
    { known: target === null ? "no" : "yes", target: target ?? "", others },
  );
}

function silentText({ rest, places, known, target }: Rest): string {
  return say(
    "{rest, select, some {Only devices with an exit of their own leave, by {places}} else {Nothing else leaves} other {Nothing leaves}}: {known, select, yes {{target} does not answer} other {the server does not answer}}. The gateway keeps trying.",
    { rest, places, known, target },
  );
}

function failedText({ rest, places, known, target }: Rest): string {
  return say(
    "{rest, select, some {Only devices with an exit of their own leave, by {places}} else {Nothing else leaves} other {Nothing leaves}}: {known, select, yes {the tunnel to {target} could not be set up} other {the tunnel to the server could not be set up}}.",
    { rest, places, known, target },
  );
}

function goneText({ rest, places }: Rest): string {
  return say(
    "{rest, select, some {Only devices with an exit of their own leave, by {places}.} else {Nothing else leaves: there is no tunnel.} other {Nothing leaves: there is no tunnel.}}",
    { rest, places },
  );
}

function reasonIn({ error }: Pick<Status, "error">): string | null {
  return error === null ? null : inItsWords(sentenceFrom(error));
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
  return text.includes(",")
    ? say("{place}, via {via}", { place: text, via })
    : say("{place} via {via}", { place: text, via });
}

function waiting(row: TunnelRow): string {
  return say(
    "{reason}: {count, plural, =0 {its devices are} one {# device is} other {# devices are}} blocked until it is connected.",
    { reason: downSentence(row.name, row), count: row.devices },
  );
}

function unheard({ name, devices }: TunnelRow): string {
  return say(
    "The {name, select, main {main tunnel} other {tunnel {name}}} carries nothing: {count, plural, =0 {its devices have} one {# device has} other {# devices have}} no internet.",
    { name, count: devices },
  );
}
