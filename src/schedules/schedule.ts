import { nameIn } from "../base/name.ts";
import { listIn, SavedList } from "../base/saved.ts";
import type { Values } from "../devices/by-time.ts";
import { parseDefaultExit } from "../devices/exit.ts";
import { deviceIdIn, EVERYBODY_ELSE, type LimitId, parseLimitId } from "../devices/id.ts";
import { quotaIn } from "../devices/quota.ts";
import { assertSingle, rateIn } from "../devices/rate.ts";
import type { Quota, Rate } from "../devices/values.ts";
import { isOutside } from "../shared/exits.ts";
import { quotaText } from "../shared/quotas.ts";
import { rateText } from "../shared/rates.ts";
import { tunnelTitle } from "../shared/words.ts";
import { EXIT_KEYS } from "../store/exits.ts";
import { assertTunnelName } from "../tunnel/name.ts";
import { refused } from "./refusals.ts";
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

export type ActionKind = keyof Values;

/** A device, or all others, has something else for some time. All others have no exit. */
interface TimedAs<Kind extends ActionKind> {
  name: string;
  do: Kind;
  who: LimitId;
  value: Values[Kind];
  when: Span;
}

/** What holds for some time. */
export type TimedAction = { [Kind in ActionKind]: TimedAs<Kind> }[ActionKind];
type Action = { [Kind in ActionKind]: Pick<TimedAs<Kind>, "do" | "who" | "value"> }[ActionKind];
export type Schedule = Move | TimedAction;

const TIME = /^([01]\d|2[0-3]):[0-5]\d$/;

const storedIn = listIn(SavedSchedule);

/** The schedule that a client has described. Throws `bad_request` if its fields do not belong together. */
export function scheduleIn(name: string, body: ScheduleBody): Schedule {
  nameIn("name", name);
  for (const field of ["at", "until"] as const)
    if (!TIME.test(body[field] ?? "00:00")) throw refused("time_invalid", { field });
  const { tunnel, device, shared_rate, shared_quota } = body;
  if ([tunnel, device, shared_rate, shared_quota].filter((each) => each !== undefined).length !== 1)
    throw refused("one_of_required", { fields: "tunnel, device, shared_rate or shared_quota" });
  return tunnel === undefined ? timedIn(name, body) : moveIn(name, tunnel, body);
}

/** The schedule in the client's words. */
export function bodyOf(schedule: Schedule): ScheduleBody {
  const { when } = schedule;
  const what = whatOf(schedule);
  if ("everyHours" in when) return { ...what, every_hours: when.everyHours };
  return {
    ...what,
    at: when.at,
    ...("until" in when && { until: when.until }),
    ...(when.days.length < DAYS.length && { days: [...when.days] }),
  };
}

/** The same without its times. */
function whatOf(schedule: Schedule): ScheduleBody {
  if (schedule.do === "move") return { tunnel: schedule.tunnel };
  const { do: what, who, value } = schedule;
  return who === EVERYBODY_ELSE ? { [`shared_${what}`]: value } : { device: who, [what]: value };
}

/** Those of people. */
export const SCHEDULES = new SavedList<Schedule>({
  key: EXIT_KEYS.schedules,
  what: "schedule",
  /** Anyone on the LAN may add schedules, and each is checked twice a minute. */
  max: 64,
  maxCharacters: 1_000,
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

function actionOf(schedule: Schedule): string {
  if (schedule.do === "move") return `move the ${tunnelTitle(schedule.tunnel)}`;
  const { who } = schedule;
  if (schedule.do === "exit") return `${who} to ${schedule.value}`;
  const [what, limit] =
    schedule.do === "rate" ? ["limit", rateOf(schedule.value)] : ["quota", quotaOf(schedule.value)];
  return `${who === EVERYBODY_ELSE ? `shared ${what}` : `${what} of ${who}`} (${limit})`;
}

function rateOf(rate: Rate | null): string {
  return rate === null ? "none" : rateText(rate);
}

function quotaOf(quota: Quota | null): string {
  return quota === null ? "none" : quotaText(quota);
}

function moveIn(
  name: string,
  tunnel: string,
  { exit, rate, quota, at, until, every_hours, days }: ScheduleBody,
): Move {
  assertTunnelName(tunnel, "tunnel");
  if ([exit, rate, quota, until].some((each) => each !== undefined)) throw refused("not_for_tunnel");
  if (every_hours !== undefined && at === undefined && days === undefined)
    return { name, do: "move", tunnel, when: { everyHours: every_hours } };
  if (at === undefined || every_hours !== undefined) throw refused("time_required");
  return { name, do: "move", tunnel, when: { at, days: sorted(days) } };
}

function timedIn(name: string, body: ScheduleBody): TimedAction {
  const { device, at, until, every_hours, days } = body;
  if (every_hours !== undefined) throw refused("only_for_tunnel");
  const deed = device === undefined ? sharedIn(body) : deedIn(device, body);
  if (at === undefined || until === undefined)
    throw refused("times_required", { of: device === undefined ? `shared_${deed.do}` : "device" });
  if (until === at) throw refused("times_equal");
  return { name, ...deed, when: { at, until, days: sorted(days) } };
}

/** What a device has. */
function deedIn(device: string, { exit, rate, quota }: ScheduleBody): Action {
  if ([exit, rate, quota].filter((each) => each !== undefined).length !== 1)
    throw refused("one_of_required_for_device");
  const who = deviceIdIn(device, "device");
  const isSingle = parseLimitId(who) !== null;
  if (rate !== undefined) {
    assertSingle(isSingle);
    return { do: "rate", who, value: rateIn(isSingle, rate) };
  }
  if (quota === undefined) return { do: "exit", who, value: exitIn(exit ?? "") };
  assertSingle(isSingle, "quota");
  return { do: "quota", who, value: quotaIn(isSingle, quota) };
}

/** What all others have. */
function sharedIn({ exit, rate, quota, shared_rate, shared_quota = null }: ScheduleBody): Action {
  if ([exit, rate, quota].some((each) => each !== undefined)) throw refused("only_for_device");
  if (shared_rate !== undefined)
    return { do: "rate", who: EVERYBODY_ELSE, value: rateIn(true, shared_rate, "shared_rate") };
  return { do: "quota", who: EVERYBODY_ELSE, value: quotaIn(true, shared_quota, "shared_quota") };
}

function exitIn(exit: string): string {
  if (isOutside(exit)) throw refused("direct_scheduled");
  if (parseDefaultExit(exit) === null) throw refused("exit_unschedulable");
  return exit;
}

function sorted(days: readonly Day[] = DAYS): Day[] {
  return DAYS.filter((day) => days.includes(day));
}

function parsed({ name, ...body }: { name: string } & ScheduleBody): Schedule | null {
  try {
    return scheduleIn(name, body);
  } catch {
    return null;
  }
}
