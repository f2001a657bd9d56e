import type { JournalEntry } from "../../../journal/schema.ts";
import { capital, tunnelTitle } from "../../../shared/words.ts";
import { GOOD } from "../../alert.ts";
import { sentenceFrom } from "../../format.ts";
import { Icon, type IconName } from "../../parts/icon.tsx";
import { type Tone, viaText } from "../../sentence.ts";

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

export function Entry({ entry }: { entry: JournalEntry }) {
  const { icon, tone, text, why } = entry.type === "security_alert" ? alertIn(entry) : changeIn(entry);
  return (
    <li class={`row tone-${tone}`}>
      <Icon name={icon} />
      <div class="entry">
        <time class="quiet small" dateTime={entry.at}>
          {TIME.format(new Date(entry.at))}
        </time>
        <div>
          <p>{text}</p>
          {why !== null && <p class="quiet">{sentenceFrom(why)}</p>}
        </div>
      </div>
    </li>
  );
}

interface Told {
  icon: IconName;
  tone: Tone;
  text: string;
  why: string | null;
}

function alertIn({ code, message }: Extract<JournalEntry, { type: "security_alert" }>): Told {
  const isGood = GOOD.test(code);
  return {
    icon: isGood ? "good" : "warning",
    tone: isGood ? "protected" : "partly",
    text: `Alert: ${sentenceFrom(message)}`,
    why: null,
  };
}

function changeIn(entry: Extract<JournalEntry, { type: "tunnel_state" }>): Told {
  const { tunnel, state, error: why } = entry;
  const where = whereOf(entry);
  const title = capital(tunnelTitle(tunnel));
  switch (state) {
    case "connected":
      if (entry.unanswered)
        return { icon: "warning", tone: "partly", text: `${title}: ${where} carries nothing.`, why };
      return { icon: "shield", tone: "protected", text: `${title}: connected to ${where}.`, why };
    case "reconnecting":
      return {
        icon: "blocked",
        tone: "blocked",
        text: `${title}: no answer from ${where}; the gateway keeps trying, and its devices are blocked meanwhile.`,
        why,
      };
    case "failed":
      return {
        icon: "blocked",
        tone: "blocked",
        text: `${title}: the connection to ${where} failed.`,
        why,
      };
    case "connecting":
      return { icon: "wait", tone: "working", text: `${title}: connecting to ${where}.`, why };
    case "disconnected":
      return { icon: "blocked", tone: "blocked", text: `${title}: disconnected.`, why };
  }
}

function whereOf({ location, server, via }: Extract<JournalEntry, { type: "tunnel_state" }>): string {
  if (server === "") return "its server";
  return viaText(location === "" ? server : `${location} (${server})`, via);
}
