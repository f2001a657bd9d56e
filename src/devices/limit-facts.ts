import { Type } from "typebox";
import { type Entity, facts } from "../base/fact.ts";
import { BYTES_PER_MEGABYTE } from "../shared/quotas.ts";
import { rateText } from "../shared/rates.ts";
import type { Rate, UsedQuota } from "./values.ts";

/** What a device has, or all devices without one of their own together. */
interface Limits {
  rate: Rate | undefined;
  quota: UsedQuota | undefined;
}

const amount = (description: string) => Type.Optional(Type.Number({ description }));
const text = (description: string) => Type.Optional(Type.String({ description }));
const RATE = {
  device_class: "data_rate",
  state_class: "measurement",
  unit_of_measurement: "Mbit/s",
} as const;

/** Each is missing without its limit. What is used has a topic of its own, because it changes all the time. */
export const LIMIT_FACTS = facts<Limits>()({
  rate_down: {
    schema: amount("how fast it may receive"),
    of: ({ rate }) => rate?.down ?? undefined,
    entity: { name: "Download limit", ...RATE },
  },
  rate_up: {
    schema: amount("how fast it may send"),
    of: ({ rate }) => rate?.up ?? undefined,
    entity: { name: "Upload limit", ...RATE },
  },
  used: {
    schema: amount("what was used of the quota in the present day or month"),
    of: ({ quota }) => quota && megabytesIn(quota.used_bytes),
    // It begins again with each day or month.
    entity: { ...sizeOf("used"), state_class: "total_increasing", attributes: true },
  },
  left: {
    schema: amount("what is left of the quota"),
    of: ({ quota }) => quota && megabytesIn(quota.megabytes * BYTES_PER_MEGABYTE - quota.used_bytes),
    entity: { ...sizeOf("left"), state_class: "measurement" },
  },
  megabytes: { schema: amount("the quota"), of: ({ quota }) => quota?.megabytes, isAttribute: "quota" },
  every: { schema: text("day or month"), of: ({ quota }) => quota?.every, isAttribute: "quota" },
  at_end: {
    schema: text("what follows: blocked, told, or a rate"),
    of: ({ quota }) => quota && endOf(quota),
    isAttribute: "quota",
  },
});

function sizeOf(fact: "used" | "left"): Entity {
  const unit = { device_class: "data_size", unit_of_measurement: "MB" };
  const value_template = `{{ value_json.${fact} }}`;
  return { key: `quota_${fact}`, from: "quota", name: `Quota ${fact}`, ...unit, value_template };
}

function endOf({ at_end }: UsedQuota): string {
  return typeof at_end === "object" ? rateText(at_end) : at_end;
}

/** With three decimals. */
function megabytesIn(bytes: number): number {
  return Math.round((bytes * 1_000) / BYTES_PER_MEGABYTE) / 1_000;
}
