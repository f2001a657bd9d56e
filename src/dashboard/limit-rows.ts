import type { GivenQuota, Rate } from "../devices/values.ts";
import { say } from "./language.ts";
import type { FieldRow } from "./parts/form-values.ts";
import { endOf } from "./quota.ts";

/** What the fields of a rate are called. */
export interface RateLabels {
  down: string;
  up: string;
}

/** What those of a quota are called, and the choices at its end. */
export interface QuotaLabels extends RateLabels {
  label: string;
  blocked: string;
  slower: string;
}

const FREE = say("Empty means no limit.");

/** Mbit/s each way. */
export function rateRows(
  labels: RateLabels,
  rate: Rate | null | undefined,
): { down: FieldRow; up: FieldRow } {
  return {
    down: { label: labels.down, hint: FREE, value: rate?.down ?? "" },
    up: { label: labels.up, hint: FREE, value: rate?.up ?? "" },
  };
}

/** Null if both ways are free. */
export function rateIn({ down, up }: Rate): Rate | null {
  return down === null && up === null ? null : { down, up };
}

/** How much, and what happens then: `end`, with a rate if it is slow. */
export function quotaRows(
  { label, blocked, slower, ...labels }: QuotaLabels,
  quota: GivenQuota | null | undefined,
  end: string = endOf(quota),
): Record<"megabytes" | "every" | "end", FieldRow> & { down?: FieldRow; up?: FieldRow } {
  const rate = typeof quota?.at_end === "object" ? quota.at_end : null;
  return {
    megabytes: {
      label,
      hint: say("Sent and received together. Empty means unlimited."),
      value: quota?.megabytes ?? "",
    },
    every: {
      label: say("The quota begins again"),
      value: quota?.every ?? "day",
      options: [
        { value: "day", text: say("each day") },
        { value: "month", text: say("each month") },
      ],
    },
    end: {
      label: say("At the end of the quota"),
      value: endOf(quota),
      options: [
        { value: "blocked", text: blocked },
        { value: "slow", text: slower },
        { value: "told", text: say("Only an alert") },
      ],
    },
    ...(end === "slow" && rateRows(labels, rate)),
  };
}

/** Null for any amount. */
export function quotaIn(given: {
  megabytes: number | null;
  every: GivenQuota["every"];
  end: string;
  down: number | null;
  up: number | null;
}): GivenQuota | null {
  const { megabytes, every, end, down, up } = given;
  if (megabytes === null) return null;
  return { megabytes, every, at_end: end === "slow" ? { down, up } : (end as "blocked" | "told") };
}
