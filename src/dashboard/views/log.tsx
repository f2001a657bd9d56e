import type { JournalEntry } from "../../journal/schema.ts";
import { timeOf } from "../format.ts";
import { useKept } from "../kept.ts";
import { say } from "../language.ts";
import { Button } from "../parts/button.tsx";
import { Pending } from "../parts/pending.tsx";
import { dayOf } from "./log/day.ts";
import { Entry } from "./log/entry.tsx";
import { Filter, isShown, type Topic } from "./log/filter.tsx";
import { useHistory } from "./log/history.ts";

/** What has happened, the latest first, by day. */
export function Log() {
  const { latest, events, more, older } = useHistory();
  const [topic, setTopic] = useKept<Topic>("topic", "all");
  const shown = events.filter((entry) => isShown(entry, topic)).toReversed();
  const days = Map.groupBy(shown, ({ at }) => dayOf(at));
  const first = events[0];
  return (
    <div class="log">
      <h1>{say("Log")}</h1>
      <Filter events={events} topic={topic} onTopic={setTopic} />
      {latest.state !== "ready" && <Pending of={latest} />}
      {latest.state === "ready" && shown.length === 0 && (
        <p class="quiet">
          {first === undefined || !more
            ? say("Nothing so far.")
            : say("Nothing since {time}.", { time: timeOf(first.at) })}
        </p>
      )}
      {[...days].map(([day, entries]) => (
        <section key={day} class="card day">
          <h2>{day}</h2>
          <ul class="rows">
            {entries.map((entry) => (
              <Entry key={entry.id} entry={entry} />
            ))}
          </ul>
        </section>
      ))}
      {more && (
        <Button doing={say("Reading…")} work={() => older((entry: JournalEntry) => isShown(entry, topic))}>
          {say("Older events")}
        </Button>
      )}
    </div>
  );
}
