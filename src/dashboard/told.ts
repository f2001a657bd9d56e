import type { SecurityAlert } from "../base/alert.ts";
import type { StateName } from "../tunnel/schema.ts";
import { type Tone, viaText } from "./sentence.ts";

/** The codes of alerts that say that something works again. */
const GOOD = /(_(restored|gone|uncontested)|^state_saved|^killswitch_on)$/;

interface Look {
  icon: "good" | "warning" | "shield" | "wait" | "blocked";
  tone: Tone;
}

export function alertLook({ code }: Pick<SecurityAlert, "code">): Look {
  return GOOD.test(code) ? { icon: "good", tone: "protected" } : { icon: "warning", tone: "partly" };
}

/** `word` is the state as a title. */
export function tunnelLook(row: { state: StateName; unanswered?: boolean }): Look & { word: string } {
  if (row.unanswered) return { icon: "warning", tone: "partly", word: "Carries nothing" };
  switch (row.state) {
    case "connected":
      return { icon: "shield", tone: "protected", word: "Connected" };
    case "connecting":
      return { icon: "wait", tone: "working", word: "Connecting" };
    case "reconnecting":
    case "failed":
      return { icon: "blocked", tone: "blocked", word: "Blocked" };
    case "disconnected":
      return { icon: "blocked", tone: "blocked", word: "Disconnected" };
  }
}

/** What a tunnel's state of the past is, to follow its title and a colon. */
export const STATE_TEXTS: Readonly<Record<StateName, (where: string) => string>> = {
  connected: (where) => `connected to ${where}`,
  connecting: (where) => `connecting to ${where}`,
  reconnecting: (where) => `no answer from ${where}`,
  failed: (where) => `the connection to ${where} failed`,
  disconnected: () => "disconnected",
};

/** The server of that time. */
export function whereOf(state: { server: string; location: string; via?: string }): string {
  const { server, location, via } = state;
  if (server === "") return "its server";
  return viaText(location === "" ? server : `${location} (${server})`, via);
}
