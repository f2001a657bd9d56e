import type { DeviceList } from "../../../devices/schema.ts";
import { change, pathOf } from "../../api.ts";
import { say } from "../../language.ts";
import { FormButton } from "../../parts/button.tsx";
import { Remove, Row } from "../../parts/row.tsx";
import { momentOf, phaseOf, type Schedule, sentenceFor, whoIn, whoOf } from "../../schedule.ts";

interface RowProps {
  schedule: Schedule;
  devices: DeviceList["devices"];
  zone: string;
  now: number;
  onChange: () => void;
}

/** What it does and when, what it is about now, and what can be done about it. */
export function ScheduleRow({ schedule, devices, zone, now, onChange }: RowProps) {
  const { name, active } = schedule;
  return (
    <Row
      icon={schedule.tunnel === undefined ? "device" : "tunnel"}
      tone={active ? "protected" : "unknown"}
      name={name}
      label={active && { text: say("Now") }}
      facts={[
        <span class="item-first">{sentenceFor(schedule, devices)}</span>,
        nowOf(schedule, devices, zone, now),
      ]}
      fault={schedule}
      intro={say("It failed the last time.")}
      actions={
        <>
          {schedule.once === undefined && (
            <FormButton label={say("Change {name}", { name })} open={onChange}>
              {say("Change")}
            </FormButton>
          )}
          <Remove
            label={say("Remove {name}", { name })}
            work={async () => void (await change("DELETE", pathOf("schedules", name)))}
            title={say("Remove the schedule {name}?", { name })}
            text={whatRemovingDoes(schedule, devices)}
          />
        </>
      }
    />
  );
}

function nowOf(schedule: Schedule, devices: DeviceList["devices"], zone: string, now: number): string {
  const moment = momentOf(schedule.next_at, zone, now);
  switch (phaseOf(schedule, zone, now)) {
    case "active":
      return say("In force until {moment}.", { moment });
    case "overruled":
      return overruledText(schedule, whoIn(whoOf(schedule) ?? "", devices), moment);
    case "waiting":
      return say("Next: {moment}.", { moment });
    case "overdue":
      return say("As soon as the tunnel can move.");
  }
}

function overruledText(schedule: Schedule, who: string, moment: string): string {
  const { rate, quota, shared_rate } = schedule;
  if (whoOf(schedule) === undefined)
    return say(
      shared_rate === undefined
        ? "Not in force now, although planned until {moment}: all others were given another quota."
        : "Not in force now, although planned until {moment}: all others were given another limit.",
      { moment },
    );
  if (quota !== undefined)
    return say("Not in force now, although planned until {moment}: {who} was given another quota.", {
      moment,
      who,
    });
  return say(
    rate === undefined
      ? "Not in force now, although planned until {moment}: {who} was given another exit."
      : "Not in force now, although planned until {moment}: {who} was given another limit.",
    { moment, who },
  );
}

function whatRemovingDoes(schedule: Schedule, devices: DeviceList["devices"]): string {
  const { tunnel, active } = schedule;
  const device = whoOf(schedule);
  if (tunnel !== undefined)
    return say(
      "The {tunnel, select, main {main tunnel} other {tunnel {tunnel}}} then keeps its server until someone moves it.",
      { tunnel },
    );
  if (device === undefined) return whatOthersHave(schedule);
  const who = whoIn(device, devices);
  if (schedule.rate !== undefined)
    return say(
      active ? "{who} gets its own limit back at once." : "{who} then keeps its own limit at that time.",
      { who },
    );
  if (schedule.quota !== undefined)
    return say(
      active ? "{who} gets its own quota back at once." : "{who} then keeps its own quota at that time.",
      { who },
    );
  return say(
    active ? "{who} gets its own exit back at once." : "{who} then keeps its own exit at that time.",
    { who },
  );
}

function whatOthersHave({ shared_rate, active }: Schedule): string {
  if (shared_rate === undefined)
    return say(
      active
        ? "All others get their usual quota back at once."
        : "All others then keep their usual quota at that time.",
    );
  return say(
    active
      ? "All others get their usual limit back at once."
      : "All others then keep their usual limit at that time.",
  );
}
