import { nameIn } from "../base/name.ts";
import { listIn, SavedList } from "../base/saved.ts";
import type { Values } from "../devices/by-time.ts";
import { parseDefaultExit } from "../devices/exit.ts";
import { deviceIdIn, EVERYBODY_ELSE, type LimitId, parseLimitId } from "../devices/id.ts";
import { quotaIn } from "../devices/quota.ts";
import { assertSingle, rateIn } from "../devices/rate.ts";
import { refused as refusedOfDevice } from "../devices/refusals.ts";
import type { Quota, Rate } from "../devices/values.ts";
import { MAX_ONCE_MINUTES } from "../shared/bounds.ts";
import { isOutside } from "../shared/exits.ts";
import { linkIn, networkIdOf } from "../shared/network-id.ts";
import { quotaText } from "../shared/quotas.ts";
import { rateText } from "../shared/rates.ts";
import { tunnelTitle } from "../shared/words.ts";
import { EXIT_KEYS } from "../store/exits.ts";
import { assertTunnelName } from "../tunnel/name.ts";
import { refused } from "./refusals.ts";
import { DAYS, type Day, SavedSchedule, type ScheduleBody } from "./schema.ts";
import { type Daily, nextOf, type Once, type Span } from "./times.ts";

/** A tunnel moves to another server of its place. */
export interface Move {
  name: string;
  do: "move";
  tunnel: string;
  when: Daily | { everyHours: number };
}

export type ActionKind = keyof Values;

/** A device, a network, or all others have something else for some time. All others have no exit. */
export interface TimedAs<Kind extends ActionKind> {
  name: string;
  do: Kind;
  who: LimitId;
  value: Values[Kind];
  when: Span | Once;
}

/** What holds for some time. */
export type TimedAction = { [Kind in ActionKind]: TimedAs<Kind> }[ActionKind];
type Action = { [Kind in ActionKind]: Pick<TimedAs<Kind>, "do" | "who" | "value"> }[ActionKind];
export type Schedule = Move | TimedAction;

const TIME = /^([01]\d|2[0-3]):[0-5]\d$/;

const MINUTE_MS = 60_000;
const MAX_ONCE_MS = MAX_ONCE_MINUTES * MINUTE_MS;

const storedIn = listIn(SavedSchedule);

/** All of a schedule but what makes it one that comes once. */
type Body = Omit<ScheduleBody, "once">;

/** When what comes once begins and ends. */
export function onceIn(
  { minutes, until }: NonNullable<ScheduleBody["once"]>,
  now: number,
  zone: string,
): Once {
  if ((minutes === undefined) === (until === undefined)) throw refused("once_malformed");
  if (minutes !== undefined) return { from: now, to: now + minutes * MINUTE_MS };
  return { from: now, to: nextOf({ at: timeIn("once: until", until), days: DAYS }, now, zone) };
}

/** The schedule that a client has described. Throws `bad_request` if its fields do not belong together. */
export function scheduleIn(name: string, body: Body, once?: Once): Schedule {
  nameIn("name", name);
  for (const field of ["at", "until"] as const) timeIn(field, body[field] ?? "00:00");
  const { tunnel, device, network, shared_rate, shared_quota } = body;
  if ([tunnel, device, network, shared_rate, shared_quota].filter((each) => each !== undefined).length !== 1)
    throw refused("one_of_required", { fields: "tunnel, device, network, shared_rate or shared_quota" });
  if (tunnel === undefined) return timedIn(name, body, once);
  if (once !== undefined) throw refused("once_malformed");
  return moveIn(name, tunnel, body);
}

/** The schedule in the client's words, and with its times if it comes once. */
export function bodyOf(schedule: Schedule): Omit<SavedSchedule, "name"> {
  const { when } = schedule;
  const what = whatOf(schedule);
  if ("to" in when) return { ...what, once: { began_at: textOf(when.from), ends_at: textOf(when.to) } };
  if ("everyHours" in when) return { ...what, every_hours: when.everyHours };
  return {
    ...what,
    at: when.at,
    ...("until" in when && { until: when.until }),
    ...(when.days.length < DAYS.length && { days: [...when.days] }),
  };
}

/** The same without its times. */
function whatOf(schedule: Schedule): Body {
  if (schedule.do === "move") return { tunnel: schedule.tunnel };
  const { do: what, who, value } = schedule;
  if (who === EVERYBODY_ELSE) return { [`shared_${what}`]: value };
  const link = linkIn(who);
  return { ...(link === null ? { device: who } : { network: link }), [what]: value };
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
  if ("to" in when) return `${action} from ${textOf(when.from)} until ${textOf(when.to)}`;
  if ("everyHours" in when) return `${action} every ${when.everyHours} h`;
  const span = "until" in when ? `from ${when.at} until ${when.until}` : `at ${when.at}`;
  return `${action} ${span}${when.days.length === DAYS.length ? "" : ` on ${when.days.join(", ")}`}`;
}

function actionOf(schedule: Schedule): string {
  if (schedule.do === "move") return `move the ${tunnelTitle(schedule.tunnel)}`;
  const link = linkIn(schedule.who);
  const who = link === null ? schedule.who : `the network ${link}`;
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
  { exit, rate, quota, at, until, every_hours, days }: Body,
): Move {
  assertTunnelName(tunnel, "tunnel");
  if ([exit, rate, quota, until].some((each) => each !== undefined)) throw refused("not_for_tunnel");
  if (every_hours !== undefined && at === undefined && days === undefined)
    return { name, do: "move", tunnel, when: { everyHours: every_hours } };
  if (at === undefined || every_hours !== undefined) throw refused("time_required");
  return { name, do: "move", tunnel, when: { at, days: sorted(days) } };
}

function timedIn(name: string, body: Body, once?: Once): TimedAction {
  const { device, network, at, until, every_hours, days } = body;
  const of = device !== undefined ? "device" : network !== undefined ? "network" : null;
  if (once !== undefined && [at, until, every_hours, days].some((each) => each !== undefined))
    throw refused("once_malformed");
  if (every_hours !== undefined) throw refused("only_for_tunnel");
  const deed = of === null ? sharedIn(body) : deedIn(whoIn(body), body);
  if (once !== undefined) return { name, ...deed, when: once };
  if (at === undefined || until === undefined)
    throw refused("times_required", { of: of ?? `shared_${deed.do}` });
  if (until === at) throw refused("times_equal");
  return { name, ...deed, when: { at, until, days: sorted(days) } };
}

/** A device, or a network of the LAN. */
function whoIn({ device, network = "" }: Body): LimitId {
  if (device !== undefined) return deviceIdIn(device, "device");
  const who = parseLimitId(networkIdOf(network));
  if (who === null) throw refusedOfDevice("network_unknown");
  return who;
}

/** What a device or a network has. */
function deedIn(who: LimitId, { exit, rate, quota }: Body): Action {
  if ([exit, rate, quota].filter((each) => each !== undefined).length !== 1)
    throw refused("one_of_required_for_device");
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
function sharedIn({ exit, rate, quota, shared_rate, shared_quota = null }: Body): Action {
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

function timeIn(field: string, text = ""): string {
  if (!TIME.test(text)) throw refused("time_invalid", { field });
  return text;
}

function textOf(moment: number): string {
  return new Date(moment).toISOString();
}

function sorted(days: readonly Day[] = DAYS): Day[] {
  return DAYS.filter((day) => days.includes(day));
}

/** One that would last longer than a client can ask for is no schedule of this gateway. */
function parsed({ name, once, ...body }: SavedSchedule): Schedule | null {
  try {
    const span = once && { from: Date.parse(once.began_at), to: Date.parse(once.ends_at) };
    const isPossible = span === undefined || (span.from < span.to && span.to - span.from <= MAX_ONCE_MS);
    return isPossible ? scheduleIn(name, body, span) : null;
  } catch {
    return null;
  }
}
