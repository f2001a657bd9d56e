import type { Destination } from "../destinations/schema.ts";
import type { DeviceList } from "../devices/schema.ts";
import type { KillSwitchLayers, Network } from "../http/schema.ts";
import { isOutside } from "../shared/exits.ts";
import { type Exits, type KillSwitchFacts, standingOf, type Verdict, verdictOf } from "../shared/verdict.ts";
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
  /** Why it is not known which devices use which tunnel, if that could not be read. */
  unlisted?: string | null;
  network: Network | null;
  destinations: readonly Destination[] | null;
  /** Whether a person is at the first steps, and no device has sent anything yet. */
  isFirstRun?: boolean;
}

export type Tone = "protected" | "partly" | "blocked" | "exposed" | "working" | "unknown";

/** The one thing that helps. */
export type Help = "connect" | "another" | "cancel" | "killswitch";

/** The state of the home: a word, a sentence, why it is so, and what helps. */
export interface Sentence {
  tone: Tone;
  word: string;
  /** The same where there is little room, if the word is long. */
  short?: string;
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
  if (status === null) return ASKING;
  const tunnels = known.tunnels?.map((row) => (row.name === "main" ? newest(row, status) : row)) ?? null;
  const killswitch = killSwitchIn(known, status);
  return sentenceFor(verdictOf({ ...known, killswitch, tunnels }), known, status);
}

/** The row of main may have been read before the status came. */
function newest(main: TunnelRow, { state, unanswered, carrying }: Status): TunnelRow {
  const { carrying: _, ...rest } = main;
  return { ...rest, state, unanswered, ...(carrying !== undefined && { carrying }) };
}

const ASKING: Sentence = {
  tone: "unknown",
  word: say("Checking"),
  text: say("Waiting for the gateway’s answer…"),
  why: null,
  help: null,
};

/** While the layers are awaited, what the status says of them together; null if they could not be read. */
function killSwitchIn(
  { killswitch, unread }: Known,
  { killswitch_active: holds }: Status,
): KillSwitchFacts | null {
  if (killswitch !== null || unread != null) return killswitch;
  return {
    wanted: true,
    layers: [
      { name: "firewall", holds },
      { name: "routing", holds },
    ],
  };
}

function sentenceFor(verdict: Verdict<TunnelRow>, known: Known, status: Status): Sentence {
  switch (verdict.name) {
    case "unknown":
      return unknown(known);
    case "exposed":
      return exposed(verdict.isOff);
    case "weakened":
      return weakened(verdict.layer, known.killswitch);
  }
  return withExceptions(exitsSentence(verdict, known, status), exceptionsIn(known, status));
}

type Judged = Extract<Verdict<TunnelRow>, Exits<TunnelRow>>;

/** What leaves by tunnels, while the kill switch is in place. */
function exitsSentence(verdict: Judged, known: Known, status: Status): Sentence {
  switch (verdict.name) {
    case "protected":
      return leaving(verdict, known, status);
    case "unused":
      return unused(verdict);
    case "partly":
      return lacking(verdict, known, othersIn(known, status));
    case "moving":
      return moving(verdict, known, othersIn(known, status));
    case "stalled":
      return carryingNothing(verdict.silent.filter(({ unanswered }) => unanswered));
    case "blocked":
      return blocked(verdict, known, status);
  }
}

/** What decides could not be read, or is still awaited. */
function unknown({ killswitch, unread, unlisted }: Known): Sentence {
  const why = killswitch === null ? unread : unlisted;
  if (why == null) return ASKING;
  return {
    tone: "unknown",
    word: say("Not known"),
    text:
      killswitch === null
        ? say("The gateway could not say whether the kill switch is in place. The page asks again.")
        : say("The gateway could not say which devices go through which tunnel. The page asks again."),
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
  const rules = (known.destinations ?? []).filter(({ exit, open }) => isOutside(exit) && open);
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
    ...(sentence.short === undefined && { word: say("{word}, with exceptions", { word }) }),
    text: `${exceptions} ${text}`,
  };
}

/** One of the two layers is not in place. */
function weakened(layer: string, killswitch: KillSwitchLayers | null): Sentence {
  const rule = ruleAhead(killswitch);
  if (rule !== null)
    return {
      tone: "partly",
      word: say("Weakened"),
      text: say(
        "Another program’s routing rule leads devices past the tunnel, where the firewall stops them: they might have no internet.",
      ),
      why: inItsWords(sentenceFrom(rule.found)),
      help: null,
      command: rule.remedy,
    };
  return {
    tone: "partly",
    word: say("Weakened"),
    text: say(
      "One of the kill switch’s two layers, the {layer, select, firewall {firewall} other {routing}}, is not in place. The other one still blocks what would leave outside a tunnel.",
      { layer },
    ),
    why: killswitch?.error == null ? REPAIRED : inItsWords(sentenceFrom(killswitch.error)),
    help: null,
  };
}

function exposed(isOff: boolean): Sentence {
  return {
    tone: "exposed",
    word: say("Exposed"),
    text: isOff
      ? say("The kill switch was turned off on the gateway: traffic might leave outside the tunnel.")
      : say("The kill switch is not in place: traffic might leave outside the tunnel."),
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

/** What leaves, leaves by a tunnel. */
function leaving(exits: Exits<TunnelRow>, known: Known, status: Status): Sentence {
  const others = othersIn(known, status) === "none" ? "home" : "else";
  // If the exits were lost, the default one is blocked until a person chooses.
  const lost = known.devices?.default_exit === "blocked" ? reasonIn(status) : null;
  return {
    tone: "protected",
    word: say("Protected"),
    text: say(
      "{what, select, home {Everything at home} else {Everything else} open {Everything that is not blocked} other {Everything else that is not blocked}} goes through {place}.",
      {
        what: exits.isAnyBlocked ? (others === "home" ? "open" : "other") : others,
        place: throughOf(exits.carrying),
      },
    ),
    why: troublesIn(exits, known) ?? lost,
    help: null,
  };
}

function unused({ carrying }: Exits<TunnelRow>): Sentence {
  return {
    tone: "working",
    word: say("Connected"),
    text: say("The tunnel to {place} is up. No device uses it yet.", { place: throughOf(carrying) }),
    why: null,
    help: null,
  };
}

/** Some devices have internet, and others have none. */
function lacking(exits: Exits<TunnelRow>, known: Known, others: Others): Sentence {
  const { carrying, silent, through, without: count } = exits;
  const main = silent.find(({ name }) => name === "main");
  return {
    tone: "partly",
    word: say("{count, plural, one {# device has no internet} other {# devices have no internet}}", {
      count,
    }),
    short: say("{count} without internet", { count }),
    text: say(
      "{through, plural, =0 {New devices go} one {# device goes} other {# devices go}} through {place}. {others, select, else {Nothing else leaves} other {Nothing leaves}} outside a tunnel.",
      { through, place: throughOf(carrying), others },
    ),
    why: known.network?.online === false ? OFFLINE : troublesIn(exits, known),
    help:
      main === undefined
        ? null
        : main.unanswered
          ? "another"
          : main.state === "connecting"
            ? "cancel"
            : "connect",
  };
}

/** The server answers handshakes, so the tunnel is up, and nothing else comes back. */
function carryingNothing(up: readonly TunnelRow[]): Sentence {
  return {
    tone: "partly",
    word: say("No data gets through"),
    text: say("Protected, but no data gets through {places}. Try another server.", {
      places: listOf([...new Set(up.map((row) => cityOf(placeOf(row))))]),
    }),
    why: up[0] === undefined ? null : reasonIn(up[0]),
    help: "another",
  };
}

/** A tunnel is being connected, or moved: then its devices still go through its former server. */
function moving(exits: Exits<TunnelRow>, known: Known, others: Others): Sentence {
  const row = exits.moving.find(({ name }) => name === "main") ?? exits.moving[0];
  const target = row === undefined ? null : targetOf(row);
  const still = exits.carrying.find(({ name }) => name === row?.name);
  const help = row?.name === "main" ? "cancel" : null;
  if (still !== undefined && target !== null)
    return {
      tone: "working",
      word: say("Still through {place}; trying {target}", { place: cityOf(placeOf(still)), target }),
      short: say("Moving"),
      text: say("Nothing changes until {target} answers. If it does not answer, nothing changes at all.", {
        target,
      }),
      why: null,
      help,
    };
  return {
    tone: "working",
    word: say("Connecting"),
    text: dialText(target, others),
    why: known.network?.online === false ? OFFLINE : null,
    help,
  };
}

/** Why some traffic is not carried, or why the last move of a tunnel that is up was in vain; null if all is well. */
function troublesIn({ carrying, silent }: Exits<TunnelRow>, { network }: Known): string | null {
  const failed = carrying.find(({ error, state }) => error !== null && state === "connected");
  const troubles = silent.map((row) => (row.unanswered ? unheard(row) : waiting(row)));
  const move =
    failed?.error == null
      ? []
      : network?.online === false
        ? [OFFLINE]
        : [
            `${say("The last connect failed, and nothing has changed.")} ${inItsWords(sentenceFrom(failed.error))}`,
          ];
  return [...troubles, ...move].join(" ") || null;
}

/** Whether something leaves beside what goes through tunnels. */
type Others = "else" | "none";

function othersIn(known: Known, status: Status): Others {
  return exceptionsIn(known, status) !== null ? "else" : "none";
}

/** Nothing leaves, but for what leaves directly. */
function blocked({ silent }: Exits<TunnelRow>, known: Known, status: Status): Sentence {
  if (silent.length === 0) return allBlocked(known, status);
  const main = silent.find(({ name, state }) => name === "main" && state !== "connecting");
  if (main !== undefined) return unconnected(main, known, status);
  return {
    tone: "blocked",
    word: say("Blocked"),
    text: say("{others, select, else {Nothing else leaves.} other {Nothing leaves.}}", {
      others: othersIn(known, status),
    }),
    why: silent.map(waiting).join(" "),
    help: null,
  };
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

/** The tunnel main is not up, and the kill switch is in place. */
function unconnected(main: TunnelRow, known: Known, status: Status): Sentence {
  const target = targetOf(main);
  const rest = {
    rest: othersIn(known, status),
    known: target === null ? "no" : "yes",
    target: target ?? "",
  };
  return {
    tone: "blocked",
    word: say("Blocked"),
    text:
      main.state === "reconnecting"
        ? silentText(rest)
        : main.state === "failed"
          ? failedText(rest)
          : goneText(rest),
    why: known.network?.online === false ? OFFLINE : reasonIn(status),
    help: "connect",
  };
}

const OFFLINE = say("The uplink is down: look at its cable and at the home router.");

/** What leaves without the tunnel main, and where that should lead. */
type Rest = Record<"rest" | "known" | "target", string>;

function dialText(target: string | null, others: Others): string {
  return say(
    "{known, select, yes {Connecting to {target}.} other {Connecting to the server.}} {others, select, else {Nothing else leaves} other {Nothing leaves}} outside a tunnel meanwhile.",
    { known: target === null ? "no" : "yes", target: target ?? "", others },
  );
}

function silentText({ rest, known, target }: Rest): string {
  return say(
    "{rest, select, else {Nothing else leaves} other {Nothing leaves}}: {known, select, yes {{target} does not answer} other {the server does not answer}}. The gateway keeps trying.",
    { rest, known, target },
  );
}

function failedText({ rest, known, target }: Rest): string {
  return say(
    "{rest, select, else {Nothing else leaves} other {Nothing leaves}}: {known, select, yes {the tunnel to {target} could not be set up} other {the tunnel to the server could not be set up}}.",
    { rest, known, target },
  );
}

function goneText({ rest }: Rest): string {
  return say(
    "{rest, select, else {Nothing else leaves: there is no tunnel.} other {Nothing leaves: there is no tunnel.}}",
    { rest },
  );
}

function reasonIn({ error }: Pick<Status, "error">): string | null {
  return error === null ? null : inItsWords(sentenceFrom(error));
}

/** Through which places these tunnels lead; of one, with the server through which it is reached. */
function throughOf(tunnels: readonly TunnelRow[]): string {
  return viaText(placesOf(tunnels.map(placeOf)), tunnels.length === 1 ? tunnels[0]?.via : undefined);
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

/** What a tunnel that is being connected does, and what its devices do meanwhile. */
export function connectingText(row: TunnelRow): string {
  const target = targetOf(row) ?? placeOf(row);
  return row.carrying === undefined
    ? say("Connecting to {place}…", { place: target })
    : say("Connecting to {target}… Devices still go through {place}.", {
        target,
        place: placeOf(standingOf(row)),
      });
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
    "The {name, select, main {main tunnel} other {tunnel {name}}} carries no data: {count, plural, =0 {its devices have} one {# device has} other {# devices have}} no internet.",
    { name, count: devices },
  );
}
