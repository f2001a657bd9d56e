import type { JournalEntry } from "../../../journal/schema.ts";
import { capital, tunnelTitle } from "../../../shared/words.ts";
import { sentenceFrom } from "../../format.ts";
import { Icon, type IconName } from "../../parts/icon.tsx";
import type { Tone } from "../../sentence.ts";
import { alertLook, STATE_TEXTS, tunnelLook, whereOf } from "../../told.ts";

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
  return { ...alertLook({ code }), text: `Alert: ${sentenceFrom(message)}`, why: null };
}

function changeIn(entry: Extract<JournalEntry, { type: "tunnel_state" }>): Told {
  const { tunnel, state, error: why, unanswered } = entry;
  const where = whereOf(entry);
  const what = unanswered ? `${where} carries nothing` : STATE_TEXTS[state](where);
  const more =
    state === "reconnecting" ? "; the gateway keeps trying, and its devices are blocked meanwhile" : "";
  const { icon, tone } = tunnelLook(entry);
  return { icon, tone, text: `${capital(tunnelTitle(tunnel))}: ${what}${more}.`, why };
}
