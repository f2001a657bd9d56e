import type { JournalEntry } from "../../../journal/schema.ts";
import type { Tone } from "../../../shared/verdict-texts.ts";
import { sentenceFrom } from "../../../shared/words.ts";
import { alertText } from "../../codes.ts";
import { LOCALE, say } from "../../language.ts";
import { Icon, type IconName } from "../../parts/icon.tsx";
import { Happened } from "../../parts/told.tsx";
import { alertLook, eventText, tunnelLook } from "../../told.ts";

const TIME = new Intl.DateTimeFormat(LOCALE, { timeStyle: "medium" });

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
          <Happened text={text} why={why} />
        </div>
      </div>
    </li>
  );
}

interface Line {
  icon: IconName;
  tone: Tone;
  text: string;
  why: string | null;
}

function alertIn(told: Extract<JournalEntry, { type: "security_alert" }>): Line {
  const alert = sentenceFrom(alertText(told));
  return { ...alertLook(told), text: say("Alert: {alert}", { alert }), why: null };
}

function changeIn(entry: Extract<JournalEntry, { type: "tunnel_state" }>): Line {
  const { icon, tone } = tunnelLook(entry);
  return { icon, tone, text: eventText(entry), why: entry.error };
}
