import type { Day, ScheduleBody } from "../../../schedules/schema.ts";
import type { Fault } from "../../fault.ts";
import { say } from "../../language.ts";
import { DAYS, type Schedule } from "../../schedule.ts";
import { limitIn, type RateTyped, typedOf } from "../../typed-rate.ts";

/**
 * A schedule as a person writes it; texts are named as in the interface. Those that do not belong to what it does are
 * kept, in case that is chosen again.
 */
export interface Draft {
  does: "exit" | "rate" | "move";
  repeats: "daily" | "hourly";
  name: string;
  device: string;
  exit: string;
  rate: RateTyped;
  tunnel: string;
  at: string;
  until: string;
  every_hours: string;
  days: readonly Day[];
}

export const TEXTS = ["name", "device", "exit", "tunnel", "at", "until", "every_hours"] as const;
/** What errors may name. */
export const FIELD_NAMES = [...TEXTS, "days"] as const;

type FieldName = (typeof FIELD_NAMES)[number];

/** The draft that changes a schedule; or that begins one, with what is offered first. */
export function draftOf(schedule: Schedule | null, device: string, exit: string): Draft {
  const { tunnel, rate, at, until, every_hours = 6, days } = schedule ?? {};
  const timed = rate === undefined ? "exit" : "rate";
  return {
    does: tunnel === undefined && (schedule?.device ?? device) !== "" ? timed : "move",
    repeats: schedule?.every_hours === undefined ? "daily" : "hourly",
    name: schedule?.name ?? "",
    device: schedule?.device ?? device,
    exit: schedule?.exit ?? exit,
    rate: typedOf(rate ?? undefined),
    tunnel: tunnel ?? "main",
    at: at ?? "",
    until: until ?? "",
    every_hours: String(every_hours),
    days: days ?? DAYS.map(([day]) => day),
  };
}

/** What the interface takes. Times that were left empty are left out. */
export function bodyOf({
  does,
  repeats,
  device,
  exit,
  rate,
  tunnel,
  every_hours,
  ...draft
}: Draft): ScheduleBody {
  const at = draft.at === "" ? {} : { at: draft.at };
  const until = draft.until === "" ? {} : { until: draft.until };
  const days = draft.days.length === DAYS.length ? {} : { days: [...draft.days] };
  if (does === "exit") return { device, exit, ...at, ...until, ...days };
  if (does === "rate") return { device, rate: limitIn(rate), ...at, ...until, ...days };
  return repeats === "daily" ? { tunnel, ...at, ...days } : { tunnel, every_hours: Number(every_hours) };
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
    return { field: "name", text: say("It is that of another schedule; choose another one.") };
  if (isTimed && at === "") return { field: "at", text: REQUIRED };
  if (does !== "move" && until === "") return { field: "until", text: REQUIRED };
  if (does !== "move" && until === at)
    return { field: "until", text: say("It must differ from the first time.") };
  return isTimed && days.length === 0 ? { field: "days", text: say("Choose at least one.") } : null;
}

const REQUIRED = say("It is required.");
