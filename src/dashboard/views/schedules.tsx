import { useEffect, useState } from "preact/hooks";
import type { ScheduleList } from "../../schedules/schema.ts";
import { useAction } from "../action.ts";
import { knownOf, refresh, useAnswer } from "../answers.ts";
import { timeOfDay } from "../format.ts";
import { say } from "../language.ts";
import { FormButton, Outcome } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { ListCard } from "../parts/list.tsx";
import { Pending } from "../parts/pending.tsx";
import type { Schedule } from "../schedule.ts";
import { MINUTE_MS, useMinute } from "../traffic.ts";
import { clockIn } from "../zone.ts";
import { Edit } from "./schedules/edit.tsx";
import { ScheduleRow } from "./schedules/row.tsx";

/** What the gateway does by itself at certain times. */
export function Schedules() {
  const schedules = useAnswer("schedules");
  return (
    <div class="schedules">
      {schedules.state === "ready" ? (
        <List list={schedules.value} />
      ) : (
        <>
          <h1>{say("Schedules")}</h1>
          <Pending of={schedules} />
        </>
      )}
    </div>
  );
}

function List({ list: { time_zone, schedules } }: { list: ScheduleList }) {
  const devices = knownOf(useAnswer("devices"));
  const tunnels = knownOf(useAnswer("tunnels"))?.tunnels ?? [];
  const now = useMinute() * MINUTE_MS;
  // Its action outlives the dialog, so that an outcome is not lost with it.
  const action = useAction();
  const [edited, setEdited] = useState<Schedule | "new" | null>(null);
  useFresh(schedules, now);
  return (
    <>
      <header class="view-head">
        <h1>{say("Schedules")}</h1>
        <FormButton open={() => setEdited("new")}>
          <Icon name="add" /> {say("Add a schedule…")}
        </FormButton>
      </header>
      {edited === null && <Outcome of={action} />}
      <p class="quiet">
        {say(
          "A schedule gives a device another exit, limit or quota at certain times, gives all others another limit or quota, or moves a tunnel to another server. Times are those of the gateway’s clock ({zone}), where it is {time}.",
          { zone: time_zone, time: timeOfDay(clockIn(time_zone, now)) },
        )}
      </p>
      <ListCard
        of={schedules}
        title={say("All schedules")}
        empty={{
          title: say("No schedule yet"),
          text: say(
            "For example: the TV goes through the tunnel amsterdam from 20:00 to 23:00, a child’s tablet is blocked at night, or the main tunnel moves to another server each morning.",
          ),
        }}
      >
        {(schedule) => (
          <ScheduleRow
            key={schedule.name}
            {...{ schedule, now, zone: time_zone, devices: devices?.devices ?? [] }}
            onChange={() => setEdited(schedule)}
          />
        )}
      </ListCard>
      {edited !== null && devices !== null && (
        <Edit
          {...{ list: devices, tunnels, action, zone: time_zone }}
          schedule={edited === "new" ? null : edited}
          taken={edited === "new" ? schedules.map(({ name }) => name) : []}
          onClose={() => setEdited(null)}
        />
      )}
    </>
  );
}

/** No event says that a time has passed at which nothing was to be done. */
function useFresh(schedules: readonly Schedule[], now: number): void {
  const isPast = schedules.some(({ next_at }) => Date.parse(next_at) <= now);
  useEffect(() => {
    if (isPast) void refresh("schedules");
  }, [isPast, now]);
}
