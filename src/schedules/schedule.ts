import { GatewayError } from "../base/errors.ts";
import { nameIn } from "../base/name.ts";
import { listIn, SavedList } from "../base/saved.ts";
import { parseDefaultExit } from "../devices/exit.ts";
import { type DeviceId, deviceIdIn, parseLimitId } from "../devices/id.ts";
import { assertSingle, rateIn } from "../devices/limits.ts";
import type { Rate } from "../devices/schema.ts";
import { rateText } from "../shared/rates.ts";
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
interface ExitSchedule {
  name: string;
  do: "exit";
  device: DeviceId;
  exit: string;
  when: Span;
}

/** A device has another limit for some time; null is none of its own. */
interface RateSchedule {
  name: string;
  do: "rate";
  device: DeviceId;
  rate: Rate | null;
  when: Span;
}

/** What holds for some time. */
export type Timed = ExitSchedule | RateSchedule;
export type Schedule = Move | Timed;

const TIME = /^([01]\d|2[0-3]):[0-5]\d$/;

const storedIn = listIn(SavedSchedule);

/** The schedule that a client has described. Throws `bad_request` if its fields do not belong together. */
export function scheduleIn(name: string, body: ScheduleBody): Schedule {
  nameIn("name", name);
  for (const field of ["at", "until"] as const)
    if (!TIME.test(body[field] ?? "00:00"))
      throw refusal(`${field}: must be a time of 24 hours, such as 21:00 or 07:30`);
  if (body.tunnel !== undefined && body.device === undefined) return moveIn(name, body.tunnel, body);
  if (body.device !== undefined && body.tunnel === undefined) return timedIn(name, body.device, body);
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
    case "exit":
    case "rate": {
      const { device, when } = schedule;
      const what = schedule.do === "exit" ? { exit: schedule.exit } : { rate: schedule.rate };
      return { device, ...what, at: when.at, until: when.until, ...days };
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

function wordsOf(schedule: Schedule): string {
  const { when } = schedule;
  const action = actionOf(schedule);
  if ("everyHours" in when) return `${action} every ${when.everyHours} h`;
  const span = "until" in when ? `from ${when.at} until ${when.until}` : `at ${when.at}`;
  return `${action} ${span}${when.days.length === DAYS.length ? "" : ` on ${when.days.join(", ")}`}`;
}

function actionOf(what: Schedule): string {
  if (what.do === "move") return `move the ${tunnelTitle(what.tunnel)}`;
  if (what.do === "exit") return `${what.device} to ${what.exit}`;
  return `${what.device} ${what.rate === null ? "without a limit" : `limited to ${rateText(what.rate)}`}`;
}

function moveIn(
  name: string,
  tunnel: string,
  { exit, rate, at, until, every_hours, days }: ScheduleBody,
): Move {
  const fault = nameFault(tunnel);
  if (fault !== null) throw refusal(`tunnel: ${fault}`);
  if ([exit, rate, until].some((each) => each !== undefined))
    throw refusal("exit, rate and until are for a device");
  if (every_hours !== undefined && at === undefined && days === undefined)
    return { name, do: "move", tunnel, when: { everyHours: every_hours } };
  if (at === undefined || every_hours !== undefined)
    throw refusal("either at, with days if you like, or every_hours is required");
  return { name, do: "move", tunnel, when: { at, days: sorted(days) } };
}

function timedIn(name: string, device: string, body: ScheduleBody): Timed {
  const { exit, rate, at, until, every_hours, days } = body;
  if (every_hours !== undefined) throw refusal("every_hours is for a tunnel");
  if ((exit === undefined) === (rate === undefined))
    throw refusal("either exit or rate is required for a device");
  if (at === undefined || until === undefined) throw refusal("at and until are required for a device");
  if (until === at) throw refusal("until: must differ from at");
  const id = deviceIdIn(device, "device");
  const when = { at, until, days: sorted(days) };
  if (rate !== undefined) {
    assertSingle(parseLimitId(id) !== null);
    return { name, do: "rate", device: id, rate: rateIn(true, rate), when };
  }
  return { name, do: "exit", device: id, exit: exitIn(exit ?? ""), when };
}

function exitIn(exit: string): string {
  if (exit === "direct")
    throw refusal("exit: direct cannot be scheduled, because it leads outside the tunnel; set it by hand");
  if (parseDefaultExit(exit) === null) throw refusal("exit: must be the name of a tunnel, or blocked");
  return exit;
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
