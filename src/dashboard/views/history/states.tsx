import type { HistoryPage } from "../../../history/schema.ts";
import type { Tone } from "../../../shared/verdict-texts.ts";
import { sentenceFrom } from "../../../shared/words.ts";
import { alertText } from "../../codes.ts";
import { timeOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Icon, type IconName } from "../../parts/icon.tsx";
import { ViewLink } from "../../parts/link.tsx";
import { Happened } from "../../parts/told.tsx";
import { alertLook, pastText } from "../../told.ts";

/** More are in the log. */
const MAX_ROWS = 40;

type State = HistoryPage["states"][number];

interface Row {
  key: string;
  at: string;
  when: string;
  icon: IconName;
  tone: Tone;
  text: string;
  why: string | null;
}

/** Connections, outages with their cause, and alerts, the latest first. */
export function States({ page }: { page: HistoryPage }) {
  const rows = [...page.states.map(stateRow), ...page.alerts.map(alertRow)].toSorted((one, two) =>
    two.at.localeCompare(one.at),
  );
  return (
    <section class="card">
      <h2>{say("Connections, outages and alerts")}</h2>
      {rows.length === 0 && <p class="quiet">{say("None in this period.")}</p>}
      <ul class="rows">
        {rows.slice(0, MAX_ROWS).map(({ key, when, icon, tone, text, why }) => (
          <li key={key} class={`row tone-${tone}`}>
            <Icon name={icon} />
            <div>
              <Happened text={text} why={why} />
              <p class="quiet small">{when}</p>
            </div>
          </li>
        ))}
      </ul>
      {(page.more || rows.length > MAX_ROWS) && <p class="quiet">{say("There are earlier ones.")}</p>}
      <ViewLink to="log">{say("All events")}</ViewLink>
    </section>
  );
}

function stateRow(state: State): Row {
  const { tunnel, from, until, error, unanswered } = state;
  const isUp = state.state === "connected" && !unanswered;
  return {
    key: `${tunnel} ${from}`,
    at: from,
    when: whenOf(from, until),
    icon: isUp ? "shield" : "blocked",
    tone: isUp ? "protected" : "blocked",
    text: pastText(state),
    why: error,
  };
}

function whenOf(from: string, until: string | null): string {
  if (until === null) return say("Since {time}", { time: timeOf(from) });
  const [began, ended] = [from, until].map((each) => new Date(each).toDateString());
  const isToday = ended === new Date().toDateString();
  // A time alone would be one of the day on which it began.
  return say(began !== ended && isToday ? "{from} to today, {to}" : "{from} to {to}", {
    from: timeOf(from),
    to: timeOf(until),
  });
}

function alertRow(told: HistoryPage["alerts"][number]): Row {
  const { at, message } = told;
  return {
    ...alertLook(told),
    key: `${at} ${message}`,
    at,
    when: timeOf(at),
    text: say("Alert: {message}", { message: sentenceFrom(alertText(told)) }),
    why: null,
  };
}
