import { useEffect } from "preact/hooks";
import type { QueryLogShown } from "../../../dns/schema.ts";
import { refresh, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { LOCALE, say } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { Command } from "../../parts/command.tsx";
import { Table } from "../../parts/list.tsx";
import { Pending } from "../../parts/pending.tsx";
import { useNow } from "../../traffic.ts";

const EVERY_MS = 5_000;
/** All are in the interface. */
const MOST = 200;

const ANSWERS: Record<QueryLogShown["queries"][number]["answer"], string> = {
  asked: say("answered"),
  cached: say("answered at once"),
  local: say("answered by the gateway"),
  blocked: say("blocked"),
  refused: say("refused"),
  failed: say("no answer"),
};

/** What devices ask, for ten minutes after somebody has started that. It is served by HTTPS only. */
export function QueryLog({ until }: { until: string | null }) {
  const isSecure = location.protocol === "https:";
  return (
    <section class="card query-log">
      <h2>{say("What devices ask")}</h2>
      <p class="quiet">
        {until === null
          ? say("None of it is kept. To find a name, queries can be logged for ten minutes, in memory only.")
          : say("Queries are logged in memory until {time}, and then forgotten.", { time: timeIn(until) })}
      </p>
      {isSecure ? (
        <Control isOn={until !== null} />
      ) : (
        <>
          <p class="quiet">{say("This is shown by HTTPS only, or on the gateway:")}</p>
          <Command text={until === null ? "sudo portcullis queries on" : "sudo portcullis queries"} />
        </>
      )}
      {isSecure && until !== null && <Logged />}
    </section>
  );
}

function Control({ isOn }: { isOn: boolean }) {
  return (
    <Button
      doing={isOn ? say("Ending the log…") : say("Starting…")}
      work={async () => void (await change(isOn ? "DELETE" : "POST", "dns/log"))}
    >
      {isOn ? say("End the log") : say("Log queries")}
    </Button>
  );
}

function Logged() {
  const log = useAnswer("dns/log");
  const turn = Math.floor(useNow() / EVERY_MS);
  // No event says what devices have asked.
  useEffect(() => void refresh("dns/log"), [turn]);
  if (log.state !== "ready") return <Pending of={log} />;
  const { queries } = log.value;
  if (queries.length === 0) return <p class="quiet">{say("None has come yet.")}</p>;
  return (
    <div class="figures">
      <Table
        heads={[say("Time"), say("Device"), say("Name"), say("Exit"), say("Answer")]}
        named={1}
        rows={queries
          .slice(-MOST)
          .toReversed()
          .map(({ at, device, device_name, name, type, exit, answer }) => [
            timeIn(at),
            device_name || device,
            <>
              {name} <span class="quiet">{type}</span>
            </>,
            exit,
            ANSWERS[answer],
          ])}
      />
    </div>
  );
}

function timeIn(text: string): string {
  return new Date(text).toLocaleTimeString(LOCALE);
}
