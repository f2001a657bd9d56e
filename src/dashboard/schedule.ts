import type { DeviceList } from "../devices/schema.ts";
import type { Day, ScheduleList } from "../schedules/schema.ts";
import { tunnelTitle } from "../shared/words.ts";
import { titleOf } from "./exit.ts";
import { countOf, listOf, timeOfDay } from "./format.ts";
import { clockIn, dayIn } from "./zone.ts";

export type Schedule = ScheduleList["schedules"][number];
type Devices = DeviceList["devices"];

export const DAYS: readonly (readonly [day: Day, name: string])[] = [
  ["mon", "Monday"],
  ["tue", "Tuesday"],
  ["wed", "Wednesday"],
  ["thu", "Thursday"],
  ["fri", "Friday"],
  ["sat", "Saturday"],
  ["sun", "Sunday"],
];
const WEEK = DAYS.length;
/** The first day of 1970, a Thursday, in `DAYS`. */
const FIRST_DAY = 3;

/** "TV leaves by amsterdam from 20:00 to 23:00 each day." */
export function sentenceFor(schedule: Schedule, devices: Devices): string {
  return `${whatOf(schedule, devices)} ${whenOf(schedule)}.`;
}

function whatOf({ tunnel, device = "", exit = "" }: Schedule, devices: Devices): string {
  if (tunnel !== undefined) return `The ${tunnelTitle(tunnel)} moves to another server of its place`;
  return `${whoIn(device, devices)} ${exit === "blocked" ? "is blocked" : `leaves by ${exit}`}`;
}

/** What people call the device with this id. */
export function whoIn(device: string, devices: Devices): string {
  const known = devices.find(({ id }) => id === device);
  return known === undefined ? device : titleOf(known);
}

function whenOf({ at = "", until, days, every_hours }: Schedule): string {
  if (every_hours !== undefined) return `every ${every_hours === 1 ? "hour" : countOf(every_hours, "hour")}`;
  if (until === undefined) return `at ${timeOfDay(at)} ${daysOf(days)}`;
  const next = until > at ? "" : " the next day,";
  return `from ${timeOfDay(at)} to ${timeOfDay(until)}${next} ${daysOf(days)}`;
}

/** "each day", "Sunday to Thursday", "on Saturday and Sunday". A range may go over the end of the week. */
export function daysOf(days: readonly Day[] = []): string {
  if (days.length === 0 || days.length === WEEK) return "each day";
  const isOn = DAYS.map(([day]) => days.includes(day));
  const starts = DAYS.flatMap((_, at) => (isOn[at] && !isOn.at(at - 1) ? [at] : []));
  const [first = 0] = starts;
  if (starts.length === 1 && days.length > 2) return `${nameAt(first)} to ${nameAt(first + days.length - 1)}`;
  return `on ${listOf(DAYS.filter((_, at) => isOn[at]).map(([, name]) => name))}`;
}

function nameAt(day: number): string {
  return DAYS[day % WEEK]?.[1] ?? "";
}

/**
 * Where a schedule is now. `overruled`: it is its time, but a person or another schedule has given the device another
 * exit since. `overdue`: a move that waits until its tunnel can move.
 */
export type Phase = "active" | "overruled" | "waiting" | "overdue";

export function phaseOf({ active, until, next_at }: Schedule, zone: string, now: number): Phase {
  if (active) return "active";
  if (until !== undefined && clockIn(zone, Date.parse(next_at)) === until) return "overruled";
  return Date.parse(next_at) > now ? "waiting" : "overdue";
}

/** "today at 20:00", "on Friday at 20:00", "on 3 March at 20:00", by the gateway's clock. */
export function momentOf(next: string, zone: string, now: number): string {
  const at = Date.parse(next);
  return `${dateOf(at, zone, now)} at ${timeOfDay(clockIn(zone, at))}`;
}

function dateOf(at: number, zone: string, now: number): string {
  const day = dayIn(zone, at);
  const days = day.number - dayIn(zone, now).number;
  if (days === 0) return "today";
  if (days === 1) return "tomorrow";
  return `on ${days > 0 && days < WEEK ? nameAt(day.number + FIRST_DAY) : day.date}`;
}
