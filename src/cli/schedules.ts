import { LanNetworkList } from "../devices/network-schema.ts";
import { DeviceList } from "../devices/schema.ts";
import type { GivenQuota, Quota, Rate } from "../devices/values.ts";
import { Success } from "../http/answers.ts";
import { MAIN } from "../killswitch/policy.ts";
import { DAYS, type Day, type ScheduleBody, ScheduleList } from "../schedules/schema.ts";
import { quotaText } from "../shared/quotas.ts";
import { rateText } from "../shared/rates.ts";
import { tunnelTitle } from "../shared/words.ts";
import type { Api } from "./api.ts";
import type { Output } from "./api-command.ts";
import { deviceOf, quotaIn, rateIn } from "./devices.ts";
import { networkIn } from "./networks.ts";
import { list, printable, styled } from "./text.ts";
import { usage } from "./usage.ts";

export interface ScheduleFlags {
  at?: string;
  until?: string;
  days?: string;
  every?: string;
}

type Row = ScheduleList["schedules"][number];

export async function listSchedules(api: Api, namesOnly: boolean): Promise<Output> {
  const json = await api.get("/api/schedules", ScheduleList);
  if (namesOnly) return { json, text: json.schedules.map(({ name }) => `${name}\n`).join("") };
  const { devices } = await api.get("/api/devices", DeviceList);
  return { json, text: textOf(json, new Map(devices.map(({ id, name }) => [id, name]))) };
}

export async function changeSchedule(
  api: Api,
  [name = "", action = "", ...words]: readonly string[],
  flags: ScheduleFlags,
): Promise<Output> {
  const path = `/api/schedules/${encodeURIComponent(name)}`;
  if (action === "remove") {
    if (words.length > 0 || Object.keys(timesIn(flags)).length > 0)
      throw usage("too many arguments: remove takes only the schedule's name");
    return { json: await api.delete(path, Success), text: `Removed the schedule ${printable(name)}.\n` };
  }
  const what = await whatOf(api, action, words);
  const json = await api.put(path, Success, { ...what, ...timesIn(flags) });
  const { schedules, time_zone } = await api.get("/api/schedules", ScheduleList);
  const row = schedules.find((each) => each.name === name);
  const now = row?.active ? `It is active now, until ${timeOf(row, time_zone)}.` : "";
  const next = row === undefined || row.active ? now : `It is next due ${timeOf(row, time_zone)}.`;
  return { json, text: `The schedule ${printable(name)} is saved. ${next}\n` };
}

async function whatOf(api: Api, action: string, words: readonly string[]): Promise<ScheduleBody> {
  if (action === "move") return moveOf(words);
  const [, of = "", what] = /^(shared-|network-)?(.*)$/.exec(action) as unknown as Typed;
  const [who, ...typed] = of === "shared-" ? ["", ...words] : words;
  const whom = { "": "device, and which ", "network-": "network, and which ", "shared-": "" }[of];
  if (who === undefined || typed.length === 0)
    throw usage(`missing argument: which ${whom}${of === "network-" ? what : action}?`);
  const value = VALUES[what](typed);
  if (of === "shared-") return { [`shared_${what}`]: value };
  if (of === "network-") {
    const { networks } = await api.get("/api/networks", LanNetworkList);
    return { network: networkIn(networks, who).interface, [what]: value };
  }
  return { device: (await deviceOf(api, who)).id, [what]: value };
}

/** An action as it is typed: whom it is about, and what that has. */
type Typed = readonly [action: string, of: "shared-" | "network-" | undefined, what: keyof typeof VALUES];

function moveOf([tunnel = MAIN, ...more]: readonly string[]): ScheduleBody {
  if (more.length > 0) throw usage("too many arguments: move takes a tunnel");
  return { tunnel };
}

/** What is typed for each. */
const VALUES = {
  exit: ([exit = "", ...more]: readonly string[]): string => {
    if (more.length > 0) throw usage("too many arguments: only a quota has an end");
    return exit;
  },
  rate: ([rate = "", ...more]: readonly string[]): Rate | null => {
    if (more.length > 0) throw usage("too many arguments: only a quota has an end");
    return rateIn(rate);
  },
  quota: ([amount = "", end]: readonly string[]): Quota | null => quotaIn(amount, end),
};

const WORDS: readonly string[] = DAYS;

/** The gateway reports times that are not valid. */
function timesIn({ at, until, days, every }: ScheduleFlags): ScheduleBody {
  return {
    ...(at !== undefined && { at }),
    ...(until !== undefined && { until }),
    ...(days !== undefined && { days: daysIn(days) }),
    ...(every !== undefined && { every_hours: hoursIn(every) }),
  };
}

/** Days and ranges of days: `mon-fri,sun`; a range may continue over the end of the week. */
function daysIn(text: string): Day[] {
  const days = text.toLowerCase().split(",").flatMap(rangeIn);
  return DAYS.filter((day) => days.includes(day));
}

function rangeIn(text: string): Day[] {
  const [first, last = first, ...more] = text.split("-").map((word) => WORDS.indexOf(word));
  if (first === undefined || last === undefined || Math.min(first, last) < 0 || more.length > 0)
    throw usage(`--days: ${printable(text)} is not a day or a range; write them as mon-fri,sun`);
  const count = ((last - first + DAYS.length) % DAYS.length) + 1;
  return Array.from({ length: count }, (_, at) => DAYS[(first + at) % DAYS.length] as Day);
}

function hoursIn(text: string): number {
  const hours = /^([1-9]\d{0,3})h$/.exec(text)?.[1];
  if (hours === undefined) throw usage("--every: must be hours, such as 6h");
  return Number(hours);
}

function textOf({ schedules, time_zone }: ScheduleList, names: ReadonlyMap<string, string>): string {
  if (schedules.length === 0) return `There is no schedule.\nTime zone: ${time_zone}\n`;
  const rows = schedules.map((row) => [
    printable(row.name),
    whatIn(row, names),
    whenOf(row),
    row.active ? "in force" : "",
    timeOf(row, time_zone),
  ]);
  const errors = schedules.flatMap(({ name, error }) =>
    error === null ? [] : [`${styled("red", printable(`${name}: ${error}`))}\n`],
  );
  return [
    list(["Schedule", "What", "When", "Now", "Next"], rows),
    `Time zone: ${time_zone}\n`,
    ...errors,
  ].join("");
}

function whatIn(row: Row, names: ReadonlyMap<string, string>): string {
  const { tunnel, device = "", network, exit, rate, quota, shared_rate, shared_quota } = row;
  if (tunnel !== undefined) return `move the ${tunnelTitle(tunnel)}`;
  if (shared_rate !== undefined) return `shared limit: ${limitText(shared_rate)}`;
  if (shared_quota !== undefined) return `shared quota: ${amountText(shared_quota)}`;
  const who = network === undefined ? printable(names.get(device) || device) : `network ${network}`;
  if (rate !== undefined) return `limit of ${who}: ${limitText(rate)}`;
  return quota === undefined ? `exit of ${who}: ${exit}` : `quota of ${who}: ${amountText(quota)}`;
}

function limitText(rate: Rate | null): string {
  return rate === null ? "none" : rateText(rate);
}

function amountText(quota: GivenQuota | null): string {
  return quota === null ? "none" : quotaText({ at_end: "blocked", ...quota });
}

function whenOf({ at = "", until, days, every_hours, once }: Row): string {
  if (once !== undefined) return "once";
  if (every_hours !== undefined) return `every ${every_hours} h`;
  const time = until === undefined ? at : `${at}-${until}`;
  return days === undefined ? `${time} daily` : `${time} ${daysText(days)}`;
}

/** The days as they are typed: consecutive days as a range, which may continue over the end of the week. */
function daysText(days: readonly Day[]): string {
  const has = (at: number) => days.includes(DAYS[(at + DAYS.length) % DAYS.length] as Day);
  const firsts = DAYS.map((_, at) => at).filter((at) => has(at) && !has(at - 1));
  return firsts
    .map((first) => {
      let last = first;
      while (has(last + 1)) last += 1;
      const end = DAYS[last % DAYS.length];
      return last === first ? end : `${DAYS[first]}${last === first + 1 ? "," : "-"}${end}`;
    })
    .join(",");
}

/** When the schedule of this name ends or comes next. */
export async function endOf(api: Api, name: string): Promise<string> {
  const { schedules, time_zone } = await api.get("/api/schedules", ScheduleList);
  const row = schedules.find((each) => each.name === name);
  return row === undefined ? "now" : timeOf(row, time_zone);
}

/** The time on the gateway's clock: `Sun 2026-11-22 21:00`. */
function timeOf({ next_at }: Row, zone: string): string {
  const time = Temporal.Instant.from(next_at).toZonedDateTimeISO(zone);
  const day = DAYS[time.dayOfWeek - 1] ?? "";
  const weekday = day.charAt(0).toUpperCase() + day.slice(1);
  return `${weekday} ${time.toPlainDate()} ${time.toPlainTime().toString({ smallestUnit: "minute" })}`;
}
