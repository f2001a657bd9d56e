import type { SecurityAlert } from "../base/alert.ts";
import { alertKinds } from "../base/alert-rows.ts" with { type: "macro" };
import type { Tone } from "../shared/verdict-texts.ts";
import type { Moved } from "../tunnel/moved.ts";
import type { StateName } from "../tunnel/state.ts";
import { say } from "./language.ts";
import { viaText } from "./sentence.ts";

/** What each alert tells, from the gateway's rows. */
const KINDS = alertKinds();

interface Look {
  icon: "good" | "warning" | "news" | "shield" | "wait" | "blocked";
  tone: Tone;
}

export function alertLook({ code }: Pick<SecurityAlert, "code">): Look {
  // One that only a newer gateway has may be a fault.
  const kind = Object.hasOwn(KINDS, code) ? KINDS[code] : "fault";
  switch (kind) {
    case "fault":
      return { icon: "warning", tone: "partly" };
    case "over":
      return { icon: "good", tone: "protected" };
    case "news":
      return { icon: "news", tone: "unknown" };
  }
}

export function tunnelLook(row: { state: StateName; unanswered?: boolean }): Look {
  if (row.unanswered) return { icon: "warning", tone: "partly" };
  switch (row.state) {
    case "connected":
      return { icon: "shield", tone: "protected" };
    case "connecting":
      return { icon: "wait", tone: "working" };
    case "reconnecting":
    case "failed":
      return { icon: "blocked", tone: "blocked" };
    case "disconnected":
      return { icon: "blocked", tone: "blocked" };
  }
}

/** A tunnel's state at some time. */
interface TunnelSnapshot {
  tunnel: string;
  state: StateName;
  server: string;
  location: string;
  via?: string;
  unanswered?: boolean;
  moved?: Moved;
}

/** What has happened: "Tunnel tv: connected to Oslo, Norway (no-1)." */
export function eventText(told: TunnelSnapshot): string {
  const text = say(
    "{tunnel, select, main {Main tunnel} other {Tunnel {tunnel}}}: {state, select, unanswered {{where} carries no data} connected {connected to {where}} connecting {connecting to {where}} reconnecting {no answer from {where}; the gateway keeps trying, and its devices are blocked meanwhile} failed {the connection to {where} failed} other {disconnected}}.",
    partsOf(told),
  );
  return told.moved === undefined ? text : `${text} ${movedText(told.moved)}`;
}

/** Why nobody had to ask for it. */
function movedText({ from, because }: Moved): string {
  return say(
    "{because, select, silent {It moved there because {from} does not answer.} carries_nothing {It moved there because {from} carries no data.} slow {It moved there because {from} is slow.} lossy {It moved there because {from} is lossy.} other {It went back there from {from}, because the better target answers again.}}",
    { from, because },
  );
}

/** What was so for a while. */
export function pastText(told: TunnelSnapshot): string {
  return say(
    "{tunnel, select, main {Main tunnel} other {Tunnel {tunnel}}}: {state, select, unanswered {{where} carried nothing} connected {connected to {where}} connecting {connecting to {where}} reconnecting {no answer from {where}} failed {the connection to {where} failed} other {disconnected}}.",
    partsOf(told),
  );
}

function partsOf(told: TunnelSnapshot): Record<"tunnel" | "state" | "where", string> {
  const { tunnel, state, unanswered } = told;
  return { tunnel, state: unanswered ? "unanswered" : state, where: whereOf(told) };
}

/** The server of that time. */
function whereOf({ server, location, via }: TunnelSnapshot): string {
  if (server === "") return say("its server");
  return viaText(location === "" ? server : `${location} (${server})`, via);
}
