import { GatewayError } from "../base/errors.ts";
import { nameIn } from "../base/name.ts";
import { listIn, SavedList } from "../base/saved.ts";
import { parseDefaultExit } from "../devices/exit.ts";
import { type DeviceId, deviceIdIn } from "../devices/id.ts";
import { tunnelTitle } from "../shared/words.ts";
import { nameFault } from "../tunnel/name.ts";
import { DAYS, type Day, SavedSchedule, type ScheduleBody } from "./schema.ts";

/** A time of day on some days of the week. */
export interface Daily {
  at: string;
  days: readonly Day[];
}

/** The time from `at` to `until`; the days are those on which it begins. */
export interface Span extends Daily {
  until: string;
}

/** A tunnel moves to another server of its place. */
export interface Move {
  name: string;
  do: "move";
  tunnel: string;
  when: Daily | { everyHours: number };
}

/** A device has another exit for some time. */
export interface ExitSchedule {
  name: string;
  do: "exit";
  device: DeviceId;
  exit: string;
  when: Span;
}

export type Schedule = Move | ExitSchedule;

const TIME = /^([01]\d|2[0-3]):[0-5]\d$/;

const storedIn = listIn(SavedSchedule);

/** The schedule that a client has described. Throws `bad_request` if its fields do not belong together. */
export function scheduleIn(name: string, body: ScheduleBody): Schedule {
  nameIn("name", name);
  for (const field of ["at", "until"] as const)
    if (!TIME.test(body[field] ?? "00:00"))
      throw refusal(`${field}: must be a time of 24 hours, such as 21:00 or 07:30`);
  if (body.tunnel !== undefined && body.device === undefined) return moveIn(name, body.tunnel, body);
  if (body.device !== undefined && body.tunnel === undefined) return outingIn(name, body.device, body);
  throw refusal("either tunnel or device is required");
}

/** The schedule in the client's words. */
export function bodyOf(schedule: Schedule): ScheduleBody {
  const { when } = schedule;
  if ("everyHours" in when) return { tunnel: targetOf(schedule), every_hours: when.everyHours };
  const days = when.days.length === DAYS.length ? {} : { days: [...when.days] };
  switch (schedule.do) {
    case "move":
      return { tunnel: schedule.tunnel, at: when.at, ...days };
    case "exit": {
      const { device, exit } = schedule;
      return { device, exit, at: schedule.when.at, until: schedule.when.until, ...days };
    }
  }
}

/** Those of people. */
export const SCHEDULES = new SavedList<Schedule>({
  key: "schedules",
  what: "schedule",
  /** Anyone on the LAN may add schedules, and each is checked twice a minute. */
  max: 64,
  entriesIn: (text) => storedIn(text).flatMap((each) => parsed(each) ?? []),
  format: (schedules) =>
    JSON.stringify(inOrder(schedules).map((schedule) => ({ name: schedule.name, ...bodyOf(schedule) }))),
  nameOf: ({ name }) => name,
  wordsOf,
});

/** By name. */
export function inOrder(schedules: Iterable<Schedule>): Schedule[] {
  return [...schedules].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function wordsOf({ when, ...what }: Schedule): string {
  const action =
    what.do === "move" ? `move the ${tunnelTitle(what.tunnel)}` : `${what.device} to ${what.exit}`;
  if ("everyHours" in when) return `${action} every ${when.everyHours} h`;
  const span = "until" in when ? `from ${when.at} until ${when.until}` : `at ${when.at}`;
  return `${action} ${span}${when.days.length === DAYS.length ? "" : ` on ${when.days.join(", ")}`}`;
}

function moveIn(name: string, tunnel: string, { exit, at, until, every_hours, days }: ScheduleBody): Move {
  const fault = nameFault(tunnel);
  if (fault !== null) throw refusal(`tunnel: ${fault}`);
  if (exit !== undefined || until !== undefined) throw refusal("exit and until are for a device");
  if (every_hours !== undefined && at === undefined && days === undefined)
    return { name, do: "move", tunnel, when: { everyHours: every_hours } };
  if (at === undefined || every_hours !== undefined)
    throw refusal("either at, with days if you like, or every_hours is required");
  return { name, do: "move", tunnel, when: { at, days: sorted(days) } };
}

function outingIn(name: string, device: string, body: ScheduleBody): ExitSchedule {
  const { exit, at, until, every_hours, days } = body;
  if (every_hours !== undefined) throw refusal("every_hours is for a tunnel");
  if (exit === undefined || at === undefined || until === undefined)
    throw refusal("exit, at and until are required for a device");
  if (exit === "direct")
    throw refusal("exit: direct cannot be scheduled, because it leads outside the tunnel; set it by hand");
  if (parseDefaultExit(exit) === null) throw refusal("exit: must be the name of a tunnel, or blocked");
  if (until === at) throw refusal("until: must differ from at");
  return {
    name,
    do: "exit",
    device: deviceIdIn(device, "device"),
    exit,
    when: { at, until, days: sorted(days) },
  };
}

function sorted(days: readonly Day[] = DAYS): Day[] {
  return DAYS.filter((day) => days.includes(day));
}

function targetOf(schedule: Schedule): string {
  return schedule.do === "move" ? schedule.tunnel : schedule.device;
}

function parsed({ name, ...body }: { name: string } & ScheduleBody): Schedule | null {
  try {
    return scheduleIn(name, body);
  } catch {
    return null;
  }
}

function refusal(message: string): GatewayError {
  return new GatewayError("bad_request", message);
}
