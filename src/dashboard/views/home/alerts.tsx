import type { JournalEntry, JournalPage } from "../../../journal/schema.ts";
import { alertText } from "../../codes.ts";
import { timeOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Icon } from "../../parts/icon.tsx";
import { ViewLink } from "../../parts/link.tsx";
import { Pending } from "../../parts/pending.tsx";
import { Told } from "../../parts/told.tsx";
import type { Loaded } from "../../store.ts";
import { alertLook } from "../../told.ts";

const SHOWN = 5;

type Alert = Extract<JournalEntry, { type: "security_alert" }>;

/** What endangered the protection lately. */
export function Alerts({ events }: { events: Loaded<JournalPage> }) {
  return (
    <section class="card alerts">
      <h2>{say("Latest alerts")}</h2>
      {events.state === "ready" ? <Rows page={events.value} /> : <Pending of={events} />}
      <ViewLink to="log">{say("All events")}</ViewLink>
    </section>
  );
}

function Rows({ page }: { page: JournalPage }) {
  const alerts = page.events.filter((each): each is Alert => each.type === "security_alert");
  if (alerts.length === 0)
    return <p class="quiet">{say(page.more ? "None among the latest 100 events." : "None so far.")}</p>;
  return (
    <ul class="rows">
      {alerts
        .slice(-SHOWN)
        .toReversed()
        .map(({ id, at, ...alert }) => (
          <li key={id} class={`row tone-${alertLook(alert).tone}`}>
            <Icon name={alertLook(alert).icon} />
            <div>
              <p>
                <Told text={alertText(alert)} />
              </p>
              <p class="quiet small">
                <time dateTime={at}>{timeOf(at)}</time>
              </p>
            </div>
          </li>
        ))}
    </ul>
  );
}
