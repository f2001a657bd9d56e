import type { Day, ScheduleBody } from "../../../schedules/schema.ts";
import type { Fault } from "../../fault.ts";
import { say } from "../../language.ts";
import { DAYS, type Schedule } from "../../schedule.ts";
import { type QuotaTyped, quotaIn, quotaTypedOf } from "../../typed-quota.ts";
import { limitIn, type RateTyped, typedOf } from "../../typed-rate.ts";

/**
 * A schedule as a person writes it; texts are named as in the interface. Those that do not belong to what it does are
 * kept, in case that is chosen again.
 */
export interface Draft {
  does: "exit" | "rate" | "quota" | "shared_rate" | "shared_quota" | "move";
  repeats: "daily" | "hourly";
  name: string;
  device: string;
  exit: string;
  rate: RateTyped;
  quota: QuotaTyped;
  tunnel: string;
  at: string;
  until: string;
  every_hours: string;
  days: readonly Day[];
}

/** What a schedule can limit. */
const LIMITS = ["rate", "quota", "shared_rate", "shared_quota"] as const;

export const TEXTS = ["name", "device", "exit", "tunnel", "at", "until", "every_hours"] as const;
/** What errors may name. */
export const FIELD_NAMES = [...TEXTS, "days"] as const;

type FieldName = (typeof FIELD_NAMES)[number];

/** The draft that changes a schedule; or that begins one, with what is offered first. */
export function draftOf(schedule: Schedule | null, device: string, exit: string): Draft {
  const { tunnel, at, until, every_hours = 6, days } = schedule ?? {};
  return {
    does: schedule === null ? (device === "" ? "move" : "exit") : deedOf(schedule),
    repeats: schedule?.every_hours === undefined ? "daily" : "hourly",
    name: schedule?.name ?? "",
    device: schedule?.device ?? device,
    exit: schedule?.exit ?? exit,
    rate: typedOf(schedule?.rate ?? schedule?.shared_rate ?? undefined),
    quota: quotaTypedOf(schedule?.quota ?? schedule?.shared_quota ?? undefined),
    tunnel: tunnel ?? "main",
    at: at ?? "",
    until: until ?? "",
    every_hours: String(every_hours),
    days: days ?? DAYS.map(([day]) => day),
  };
}

function deedOf(schedule: Schedule): Draft["does"] {
  if (schedule.tunnel !== undefined) return "move";
  return LIMITS.find((each) => schedule[each] !== undefined) ?? "exit";
}

/** What the interface takes. Times that were left empty are left out. */
export function bodyOf({
  does,
  repeats,
  device,
  exit,
  rate,
  quota,
  tunnel,
  every_hours,
  ...draft
}: Draft): ScheduleBody {
  const at = draft.at === "" ? {} : { at: draft.at };
  const until = draft.until === "" ? {} : { until: draft.until };
  const days = draft.days.length === DAYS.length ? {} : { days: [...draft.days] };
  const times = { ...at, ...until, ...days };
  switch (does) {
    case "exit":
      return { device, exit, ...times };
    case "rate":
      return { device, rate: limitIn(rate), ...times };
    case "quota":
      return { device, quota: quotaIn(quota), ...times };
    case "shared_rate":
      return { shared_rate: limitIn(rate), ...times };
    case "shared_quota":
      return { shared_quota: quotaIn(quota), ...times };
    case "move":
      return repeats === "daily" ? { tunnel, ...at, ...days } : { tunnel, every_hours: Number(every_hours) };
  }
}

/**
 * What is missing or wrong; null if nothing is. Of these the gateway would not name the field, or not as the form does.
 */
export function lackOf(
  { does, repeats, name, at, until, days }: Draft,
  taken: readonly string[],
): Fault<FieldName> | null {
  const isTimed = does !== "move" || repeats === "daily";
  if (name.trim() === "") return { field: "name", text: REQUIRED };
  if (/^\.\.?$|\//.test(name.trim()))
    return { field: "name", text: say("It cannot be part of an address; leave out slashes.") };
  if (taken.includes(name.trim()))
    return { field: "name", text: say("Another schedule has it already; choose another one.") };
  if (isTimed && at === "") return { field: "at", text: REQUIRED };
  if (does !== "move" && until === "") return { field: "until", text: REQUIRED };
  if (does !== "move" && until === at)
    return { field: "until", text: say("It must differ from the first time.") };
  return isTimed && days.length === 0 ? { field: "days", text: say("Choose at least one.") } : null;
}

const REQUIRED = say("It is required.");
