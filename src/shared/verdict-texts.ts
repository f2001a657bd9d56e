import { type Arg, type OwnText, type Saying, saying } from "./saying.ts";
import type { Exits, TunnelFacts, Verdict } from "./verdict.ts";

/** `ready` is what works and waits for nothing but its use. */
export type Tone = "protected" | "ready" | "partly" | "blocked" | "exposed" | "working" | "unknown";

/** The one thing that helps. */
export type Help = "connect" | "another" | "cancel" | "killswitch";

/** A verdict for people: a title, sentences, why it is so, and what helps. */
export interface VerdictTexts {
  tone: Tone;
  title: Saying;
  /** The same where there is little room, if the title is long. */
  short?: Saying;
  text: readonly Saying[];
  why: readonly (Saying | OwnText)[];
  help: Help | null;
  /** What to type on the gateway, if only that helps. */
  command?: string;
}

/** What the sentences say beside the verdict. */
export interface Around {
  /** What is wrong with the tunnel `main`, or with the gateway; null if nothing is. */
  error: string | null;
  /** Whether the uplink is; null if it is not known. */
  online: boolean | null;
  /** What leaves outside the tunnels whatever they do: how many devices, and traffic to which destinations. */
  outside: { devices: number; targets: readonly string[] };
}

type Row = TunnelFacts;
type Texts = VerdictTexts;
type Judged = Extract<Verdict<Row>, Exits<Row>>;

export function textsOf(verdict: Verdict<Row>, around: Around): Texts {
  switch (verdict.name) {
    case "unknown":
      return unknown(verdict.of);
    case "exposed":
      return exposed(verdict.isOff);
    case "weakened":
      return weakened(verdict);
  }
  // Whom a quota blocks leaves nowhere, not even outside the tunnels.
  const devices = Math.max(0, around.outside.devices - verdict.usedUpOutside);
  const left = { ...around, outside: { ...around.outside, devices } };
  return withExceptions(textsOfExits(verdict, left), exceptionsIn(left));
}

/** What goes through tunnels, while the kill switch is in place. */
function textsOfExits(verdict: Judged, around: Around): Texts {
  switch (verdict.name) {
    case "protected":
      return leaving(verdict, around);
    case "unused":
      return unused(verdict);
    case "partly":
      return lacking(verdict, around);
    case "moving":
      return moving(verdict, around);
    case "stalled":
      return carryingNothing(verdict.silent.filter(({ unanswered }) => unanswered));
    case "blocked":
      return blocked(verdict, around);
  }
}

function unknown(of: "killswitch" | "devices"): Texts {
  return {
    tone: "unknown",
    title: saying("Not known"),
    text: [
      of === "killswitch"
        ? saying("It is not known whether the kill switch is in place.")
        : saying("It is not known which devices go through which tunnel."),
    ],
    why: [],
    help: null,
  };
}

function exposed(isOff: boolean): Texts {
  return {
    tone: "exposed",
    title: saying("Exposed"),
    text: [
      isOff
        ? saying("The kill switch was turned off on the gateway: traffic might leave outside the tunnel.")
        : saying("The kill switch is not in place: traffic might leave outside the tunnel."),
    ],
    why: isOff ? [] : [REPAIRED],
    help: isOff ? "killswitch" : null,
  };
}

const REPAIRED = saying(
  "The gateway repairs it by itself. If it stays so, another program undoes each repair.",
);

function weakened({ by, error, ahead }: Extract<Verdict<Row>, { name: "weakened" }>): Texts {
  const same = { tone: "partly", title: saying("Weakened"), help: null } as const;
  if (ahead !== null)
    return {
      ...same,
      text: [
        saying(
          "Another program’s routing rule leads devices past the tunnel, where the firewall stops them: they might have no internet.",
        ),
      ],
      why: [{ own: ahead.found }],
      command: ahead.remedy,
    };
  const text =
    by === "change"
      ? saying(
          "The kill switch is in place, but the last change has not reached the kernel: devices might not leave as you chose. The gateway tries again.",
        )
      : saying(
          "One of the kill switch’s two layers, the {layer, select, firewall {firewall} other {routing}}, is not in place. The other one still blocks what would leave outside a tunnel.",
          { layer: by },
        );
  return { ...same, text: [text], why: [error === null ? REPAIRED : { own: error }] };
}

/** What leaves outside the tunnels whatever they do; null if nothing does. */
function exceptionsIn({ outside: { devices: count, targets: all } }: Around): Saying | null {
  const targets = firstOf(all);
  if (all.length === 0)
    return count === 0
      ? null
      : saying(
          "{count, plural, one {# device leaves} other {# devices leave}} outside the tunnels, as allowed on the gateway.",
          { count },
        );
  return count === 0
    ? saying("Traffic to {targets} leaves outside the tunnels, as allowed on the gateway.", { targets })
    : saying(
        "{count, plural, one {# device leaves} other {# devices leave}} outside the tunnels, as allowed on the gateway, and so does traffic to {targets}.",
        { count, targets },
      );
}

/** How many of the direct destinations are named. */
const MAX_TARGETS = 3;

function firstOf(targets: readonly string[]): Arg {
  const count = targets.length - MAX_TARGETS;
  if (count < 2) return targets;
  return [
    ...targets.slice(0, MAX_TARGETS),
    saying("{count, plural, one {# other} other {# others}}", { count }),
  ];
}

function withExceptions(texts: Texts, exceptions: Saying | null): Texts {
  const { tone, title, text } = texts;
  if (exceptions === null) return texts;
  return {
    ...texts,
    tone: tone === "protected" || tone === "blocked" ? "partly" : tone,
    ...(texts.short === undefined && { title: saying("{word}, with exceptions", { word: title }) }),
    text: [exceptions, ...text],
  };
}

/** What leaves, goes through a tunnel. */
function leaving(exits: Exits<Row>, around: Around): Texts {
  const others = restIn(around) === "none" ? "home" : "else";
  const troubles = troublesIn(exits, around);
  // If the exits were lost, the default one is blocked until a person chooses.
  const lost = exits.areNewBlocked ? reasonIn(around) : [];
  return {
    tone: "protected",
    title: saying("Protected"),
    text: [
      saying(
        "{what, select, home {Everything at home} else {Everything else} open {Everything that is not blocked} other {Everything else that is not blocked}} goes through {place}.",
        {
          what: exits.isAnyBlocked ? (others === "home" ? "open" : "other") : others,
          place: throughOf(exits.carrying),
        },
      ),
    ],
    why: around.online === false ? [OFFLINE] : troubles.length > 0 ? troubles : lost,
    help: null,
  };
}

function unused({ carrying }: Exits<Row>): Texts {
  return {
    tone: "ready",
    title: saying("Connected"),
    text: [saying("The tunnel to {place} is up. No device uses it yet.", { place: throughOf(carrying) })],
    why: [],
    help: null,
  };
}

/** Some devices have internet, and others have none. */
function lacking(exits: Exits<Row>, around: Around): Texts {
  const { carrying, silent, through, without: count, areNewUsedUp } = exits;
  return {
    tone: "partly",
    title: saying("{count, plural, one {# device has no internet} other {# devices have no internet}}", {
      count,
    }),
    short: saying("{count} without internet", { count }),
    text: [
      through === 0 && areNewUsedUp
        ? leavesNothing(around)
        : saying(
            "{through, plural, =0 {New devices go} one {# device goes} other {# devices go}} through {place}. {others, select, else {Nothing else leaves} other {Nothing leaves}} outside a tunnel.",
            { through, place: throughOf(carrying), others: restIn(around) },
          ),
    ],
    why: around.online === false ? [OFFLINE] : troublesIn(exits, around),
    help: helpOf(silent.find(({ name }) => name === "main")),
  };
}

/** What helps while the tunnel `main` carries nothing; null if it does. */
function helpOf(main: Row | undefined): Help | null {
  if (main === undefined) return null;
  if (main.unanswered) return "another";
  return main.state === "connecting" ? "cancel" : "connect";
}

/** The server answers handshakes, so the tunnel is up, and nothing else comes back. */
function carryingNothing(up: readonly Row[]): Texts {
  return {
    tone: "partly",
    title: saying("No data gets through"),
    text: [
      saying("Protected, but no data gets through {places}. Try another server.", {
        places: [...new Set(up.map((row) => cityOf(placeOf(row))))],
      }),
    ],
    why: up[0] === undefined ? [] : reasonIn(up[0]),
    help: "another",
  };
}

/** A tunnel is being connected, or moved: then its devices still go through its former server. */
function moving(exits: Exits<Row>, around: Around): Texts {
  const row = exits.moving.find(({ name }) => name === "main") ?? exits.moving[0];
  const target = row === undefined ? null : targetOf(row);
  const still = exits.carrying.find(({ name }) => name === row?.name);
  const help = row?.name === "main" ? "cancel" : null;
  if (still !== undefined && target !== null)
    return {
      tone: "working",
      title: saying("Still through {place}; trying {target}", { place: cityOf(placeOf(still)), target }),
      short: saying("Moving"),
      text: [
        saying("Nothing changes until {target} answers. If it does not answer, nothing changes at all.", {
          target,
        }),
      ],
      why: [],
      help,
    };
  return {
    tone: "working",
    title: saying("Connecting"),
    text: [dialText(target, restIn(around))],
    why: around.online === false ? [OFFLINE] : [],
    help,
  };
}

/** Why some traffic is not carried, or why the last move of a tunnel that is up failed; none if all is well. */
function troublesIn(exits: Exits<Row>, { online }: Around): (Saying | OwnText)[] {
  const { carrying, silent, lost } = exits;
  const failed = carrying.find(({ error, state }) => error !== null && state === "connected");
  const troubles = [
    ...silent.map((row) => (row.unanswered ? unheard(row) : waiting(row))),
    ...lost.map(waiting),
    ...ownTroublesIn(exits),
  ];
  if (failed?.error == null) return troubles;
  if (online === false) return [...troubles, OFFLINE];
  return [...troubles, saying("The last connect failed, and nothing has changed."), { own: failed.error }];
}

/** Why devices are blocked whose tunnel is not the reason, and nobody has chosen it. */
function ownTroublesIn({ usedUp, waiting: count }: Exits<Row>): Saying[] {
  return [
    ...(usedUp === 0
      ? []
      : [
          saying(
            "{count, plural, one {# device has used up its quota and is} other {# devices have used up their quota and are}} blocked until it begins again.",
            { count: usedUp },
          ),
        ]),
    ...(count === 0
      ? []
      : [
          saying(
            "{count, plural, one {# device is blocked until one of its tunnels is} other {# devices are blocked until one of their tunnels is}} up.",
            { count },
          ),
        ]),
  ];
}

/** Whether something leaves beside what goes through tunnels. */
type Rest = "else" | "none";

function restIn(around: Around): Rest {
  return exceptionsIn(around) !== null ? "else" : "none";
}

/** Nothing leaves, but for what leaves directly. */
function blocked(exits: Exits<Row>, around: Around): Texts {
  const { silent, lost } = exits;
  const own = ownTroublesIn(exits);
  if (silent.length + lost.length + own.length === 0) return allBlocked(around);
  const main = silent.find(({ name, state }) => name === "main" && state !== "connecting");
  if (main !== undefined) return unconnected(main, around);
  return {
    tone: "blocked",
    title: saying("Blocked"),
    text: [leavesNothing(around)],
    why: [...[...silent, ...lost].map(waiting), ...own],
    help: null,
  };
}

function leavesNothing(around: Around): Saying {
  return saying("{others, select, else {Nothing else leaves.} other {Nothing leaves.}}", {
    others: restIn(around),
  });
}

function allBlocked(around: Around): Texts {
  return {
    tone: "blocked",
    title: saying("Blocked"),
    text: [
      saying(
        "{others, select, devices {Nothing else leaves: the exit of every other one is “blocked”.} else {Nothing else leaves: the exit of every device is “blocked”.} other {Nothing leaves: the exit of every device is “blocked”.}}",
        { others: around.outside.devices > 0 ? "devices" : restIn(around) },
      ),
    ],
    why: reasonIn(around),
    help: null,
  };
}

/** The tunnel `main` is not up, and the kill switch is in place. */
function unconnected(main: Row, around: Around): Texts {
  const target = targetOf(main);
  return {
    tone: "blocked",
    title: saying("Blocked"),
    text: [
      downText(main, { rest: restIn(around), known: target === null ? "no" : "yes", target: target ?? "" }),
    ],
    why: around.online === false ? [OFFLINE] : reasonIn(around),
    help: "connect",
  };
}

const OFFLINE = saying("The uplink is down: look at its cable and at the home router.");

function downText({ state }: Row, args: Record<"rest" | "known" | "target", Arg>): Saying {
  switch (state) {
    case "reconnecting":
      return saying(
        "{rest, select, else {Nothing else leaves} other {Nothing leaves}}: {known, select, yes {{target} does not answer} other {the server does not answer}}. The gateway keeps trying.",
        args,
      );
    case "failed":
      return saying(
        "{rest, select, else {Nothing else leaves} other {Nothing leaves}}: {known, select, yes {the tunnel to {target} could not be set up} other {the tunnel to the server could not be set up}}.",
        args,
      );
    case "disconnected":
    case "connecting":
    case "connected":
      return saying(
        "{rest, select, else {Nothing else leaves: there is no tunnel.} other {Nothing leaves: there is no tunnel.}}",
        { rest: args.rest },
      );
  }
}

function dialText(target: Arg | null, others: Rest): Saying {
  return saying(
    "{known, select, yes {Connecting to {target}.} other {Connecting to the server.}} {others, select, else {Nothing else leaves} other {Nothing leaves}} outside a tunnel meanwhile.",
    { known: target === null ? "no" : "yes", target: target ?? "", others },
  );
}

function reasonIn({ error }: { error: string | null }): OwnText[] {
  return error === null ? [] : [{ own: error }];
}

/** Through which places these tunnels lead; of one, with the server through which it is reached. */
function throughOf(tunnels: readonly Row[]): Arg {
  const [place = "", ...others] = new Set(tunnels.map(placeOf));
  // A place in full has a comma of its own.
  if (others.length > 0) return [place, ...others].map(cityOf);
  return viaText(place, tunnels.length === 1 ? tunnels[0]?.via : undefined);
}

export function cityOf(place: string): string {
  return place.replace(/,.*/, "");
}

export function placeOf({
  location,
  server,
  wanted,
  name,
}: Pick<Row, "location" | "server" | "wanted" | "name">): string {
  return location || server || wanted || name;
}

/** Where a tunnel should lead; null if nowhere. */
export function targetOf({ wanted, wanted_via }: Pick<Row, "wanted" | "wanted_via">): Arg | null {
  return wanted === null ? null : viaText(wanted, wanted_via);
}

/** With the server through which it is reached, if any. */
export function viaText(place: string, via: string | undefined): Arg {
  if (via === undefined) return place;
  return place.includes(",")
    ? saying("{place}, via {via}", { place, via })
    : saying("{place} via {via}", { place, via });
}

/** Why nothing goes through a tunnel: "the tunnel tv has failed". */
export function downReason(exit: string, state: Row["state"] | undefined): Saying {
  return saying(
    "the {exit, select, main {main tunnel} other {tunnel {exit}}} {state, select, disconnected {is disconnected} connecting {is connecting} connected {is connected} reconnecting {is reconnecting} failed {has failed} other {is not known}}",
    { exit, state: state ?? "" },
  );
}

function waiting({ name, state, devices: count }: Pick<Row, "name" | "devices"> & Partial<Row>): Saying {
  return saying(
    "{reason}: {count, plural, =0 {its devices are} one {# device is} other {# devices are}} blocked until it is connected.",
    { reason: downReason(name, state), count },
  );
}

function unheard({ name, devices: count }: Row): Saying {
  return saying(
    "The {name, select, main {main tunnel} other {tunnel {name}}} carries no data: {count, plural, =0 {its devices have} one {# device has} other {# devices have}} no internet.",
    { name, count },
  );
}
