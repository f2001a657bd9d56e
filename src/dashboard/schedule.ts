import type { DeviceList } from "../devices/schema.ts";
import type { Day, ScheduleList } from "../schedules/schema.ts";
import { linkIn, networkIdOf } from "../shared/network-id.ts";
import { exitName, titleOf } from "./exit.ts";
import { listOf, timeOfDay } from "./format.ts";
import { say } from "./language.ts";
import { limitText } from "./limit.ts";
import { amountText } from "./quota.ts";
import { clockIn, dayIn } from "./zone.ts";

export type Schedule = ScheduleList["schedules"][number];
type Devices = DeviceList["devices"];

export const DAYS: readonly (readonly [day: Day, name: string])[] = [
  ["mon", say("Monday")],
  ["tue", say("Tuesday")],
  ["wed", say("Wednesday")],
  ["thu", say("Thursday")],
  ["fri", say("Friday")],
  ["sat", say("Saturday")],
  ["sun", say("Sunday")],
];
const WEEK = DAYS.length;
/** The first day of 1970, a Thursday, in `DAYS`. */
const FIRST_DAY = 3;

/** "TV goes through amsterdam from 20:00 to 23:00 each day." */
export function sentenceFor(schedule: Schedule, devices: Devices): string {
  const { tunnel, exit = "" } = schedule;
  const device = whoOf(schedule);
  const when = whenOf(schedule);
  if (tunnel !== undefined)
    return say(
      "The {tunnel, select, main {main tunnel} other {tunnel {tunnel}}} moves to another server of its place {when}.",
      { tunnel, when },
    );
  if (device === undefined) return sharedSentence(schedule, when);
  const who = whoIn(device, devices);
  return (
    limitSentence(schedule, who, when) ??
    say("{exit, select, blocked {{who} is blocked {when}.} other {{who} goes through {name} {when}.}}", {
      exit,
      who,
      name: exitName(exit),
      when,
    })
  );
}

function sharedSentence({ shared_rate, shared_quota = null }: Schedule, when: string): string {
  if (shared_rate !== undefined)
    return say(
      "{limited, select, yes {All others together have at most {limit} {when}.} other {All others have no limit {when}.}}",
      { limited: yesIf(shared_rate), limit: shared_rate === null ? "" : limitText(shared_rate), when },
    );
  return say(
    "{limited, select, yes {All others together may use this {when}: {quota}.} other {All others have no quota {when}.}}",
    { limited: yesIf(shared_quota), quota: shared_quota === null ? "" : amountText(shared_quota), when },
  );
}

/** Null if it limits nothing. */
function limitSentence({ rate, quota }: Schedule, who: string, when: string): string | null {
  if (rate !== undefined)
    return say(
      "{limited, select, yes {{who} has at most {limit} {when}.} other {{who} has no limit of its own {when}.}}",
      { limited: yesIf(rate), who, limit: rate === null ? "" : limitText(rate), when },
    );
  if (quota === undefined) return null;
  return say(
    "{limited, select, yes {{who} may use this {when}: {quota}.} other {{who} has no quota of its own {when}.}}",
    { limited: yesIf(quota), who, quota: quota === null ? "" : amountText(quota), when },
  );
}

function yesIf(limit: object | null): string {
  return limit === null ? "no" : "yes";
}

/** The schedules that give devices their exits now, by the ids of those. One that gives a limit leaves the exit. */
export function givenExits(schedules: readonly Schedule[]): ReadonlyMap<string, string> {
  return new Map(
    schedules.flatMap(({ name, active, device, exit }) =>
      active && device !== undefined && exit !== undefined ? [[device, name] as const] : [],
    ),
  );
}

/** The device, or the network of the LAN, that it is about; undefined for a tunnel and for all others. */
export function whoOf({ device, network }: Pick<Schedule, "device" | "network">): string | undefined {
  return network === undefined ? device : networkIdOf(network);
}

/** What people call the device with this id, or the network. */
export function whoIn(device: string, devices: Devices): string {
  const link = linkIn(device);
  if (link !== null) return devices.find((each) => each.interface === link)?.network ?? link;
  const known = devices.find(({ id }) => id === device);
  return known === undefined ? device : titleOf(known);
}

export function whenOf({ at = "", until, days, every_hours, once }: Schedule): string {
  if (once !== undefined) return say("once");
  if (every_hours !== undefined)
    return say("{count, plural, =1 {every hour} one {every # hour} other {every # hours}}", {
      count: every_hours,
    });
  const some = daysOf(days);
  if (until === undefined) return say("at {time} {days}", { time: timeOfDay(at), days: some });
  const times = { from: timeOfDay(at), until: timeOfDay(until), days: some };
  return until > at
    ? say("from {from} to {until} {days}", times)
    : say("from {from} to {until} the next day, {days}", times);
}

/** "each day", "Sunday to Thursday", "on Saturday and Sunday". A range may go over the end of the week. */
export function daysOf(days: readonly Day[] = []): string {
  if (days.length === 0 || days.length === WEEK) return say("each day");
  const isOn = DAYS.map(([day]) => days.includes(day));
  const starts = DAYS.flatMap((_, at) => (isOn[at] && !isOn.at(at - 1) ? [at] : []));
  const [first = 0] = starts;
  if (starts.length === 1 && days.length > 2)
    return say("{first} to {last}", { first: nameAt(first), last: nameAt(first + days.length - 1) });
  return say("on {days}", { days: listOf(DAYS.filter((_, at) => isOn[at]).map(([, name]) => name)) });
}

function nameAt(day: number): string {
  return DAYS[day % WEEK]?.[1] ?? "";
}

/**
 * Where a schedule is now. `overruled`: it is its time, but a person or another schedule has given another exit or
 * limit since. `overdue`: a move that waits until its tunnel can move.
 */
export type Phase = "active" | "overruled" | "waiting" | "overdue";

export function phaseOf({ active, until, once, next_at }: Schedule, zone: string, now: number): Phase {
  if (active) return "active";
  if (once !== undefined) return "overruled";
  if (until !== undefined && clockIn(zone, Date.parse(next_at)) === until) return "overruled";
  return Date.parse(next_at) > now ? "waiting" : "overdue";
}

/** "today at 20:00", "on Friday at 20:00", "on 3 March at 20:00", by the gateway's clock. */
export function momentOf(next: string, zone: string, now: number): string {
  const at = Date.parse(next);
  const day = dayIn(zone, at);
  const days = day.number - dayIn(zone, now).number;
  const time = timeOfDay(clockIn(zone, at));
  if (days === 0) return say("today at {time}", { time });
  if (days === 1) return say("tomorrow at {time}", { time });
  const date = days > 0 && days < WEEK ? nameAt(day.number + FIRST_DAY) : day.date;
  return say("on {date} at {time}", { date, time });
}
