import type { Given } from "../../../http/forms.ts";
import { linkIn } from "../../../shared/network-id.ts";
import type { Fault } from "../../fault.ts";
import { say } from "../../language.ts";
import { quotaIn, rateIn } from "../../limit-rows.ts";
import { DAYS, type Schedule } from "../../schedule.ts";

/** What a schedule can do; `move` is of a tunnel, the others of devices. */
export type Deed = "exit" | "rate" | "quota" | "shared_rate" | "shared_quota" | "move";

/** What can be limited. */
const LIMITS = ["rate", "quota", "shared_rate", "shared_quota"] as const;

/** A schedule as a person writes it: what does not belong to what it does is missing. */
export type Draft = Given<"schedule"> & Record<"does" | "repeats" | "end", string>;

export function deedOf(schedule: Schedule): Deed {
  if (schedule.tunnel !== undefined) return "move";
  return LIMITS.find((each) => schedule[each] !== undefined) ?? "exit";
}

/** What the interface takes. All days are left out. */
export function bodyOf(draft: Draft): object {
  const { does, device, exit, tunnel, ...times } = draft;
  const network = linkIn(device ?? "");
  const body = { ...(network === null ? { device } : { network }), exit, tunnel, ...timesOf(times) };
  switch (does as Deed) {
    case "exit":
    case "move":
      return body;
    case "rate":
    case "shared_rate":
      return { ...body, [does]: rateIn(draft) };
    case "quota":
    case "shared_quota":
      return { ...body, [does]: quotaIn(draft) };
  }
}

function timesOf({ repeats, at, until, every_hours, minutes, days }: Partial<Draft>) {
  if (repeats === "minutes" || repeats === "until") return { once: { minutes, until } };
  return { at, until, every_hours, ...(days?.length !== DAYS.length && { days }) };
}

/** What is wrong; null if nothing is. Of these the gateway would not name the field, or not as the form does. */
export function lackOf({ name, at, until, days }: Draft, taken: readonly string[]): Fault<string> | null {
  if (name !== undefined && /^\.\.?$|\//.test(name))
    return { field: "name", text: say("It cannot be part of an address; leave out slashes.") };
  if (taken.includes(name))
    return { field: "name", text: say("Another schedule has it already; choose another one.") };
  if (until !== undefined && until === at)
    return { field: "until", text: say("It must differ from the first time.") };
  return days?.length === 0 ? { field: "days", text: say("Choose at least one.") } : null;
}
