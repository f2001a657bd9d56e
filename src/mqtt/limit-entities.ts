import type { Rate, UsedQuota } from "../devices/values.ts";
import { BYTES_PER_MEGABYTE } from "../shared/quotas.ts";
import { rateText } from "../shared/rates.ts";
import type { Component } from "./discovery.ts";

const SENSOR = { platform: "sensor" } as const;
const ABSENT: Component = { ...SENSOR, absent: true };

/** What a device has, or all devices without one of their own together. */
interface Limits {
  rate: Rate | undefined;
  quota: UsedQuota | undefined;
}

/** The sensors of a rate and of a quota, absent without one; `of` comes first in their names. */
export function limitComponents(of: "" | "Shared", { rate, quota }: Limits): Record<string, Component> {
  const named = (name: string) => (of === "" ? name : `${of} ${name.toLowerCase()}`);
  const rateSensor = (name: string, field: string): Component => ({
    ...SENSOR,
    name: named(name),
    device_class: "data_rate",
    state_class: "measurement",
    unit_of_measurement: "Mbit/s",
    value_template: `{{ value_json.${field} }}`,
  });
  const amount = (name: string, field: string) => ({
    ...SENSOR,
    from: "quota" as const,
    name: named(name),
    device_class: "data_size",
    unit_of_measurement: "MB",
    value_template: `{{ value_json.${field} }}`,
  });
  return {
    rate_down: rate?.down == null ? ABSENT : rateSensor("Download limit", "rate_down"),
    rate_up: rate?.up == null ? ABSENT : rateSensor("Upload limit", "rate_up"),
    // It begins again with each day or month.
    quota_used: quota
      ? { ...amount("Quota used", "used"), state_class: "total_increasing", attributes: true }
      : ABSENT,
    quota_left: quota ? { ...amount("Quota left", "left"), state_class: "measurement" } : ABSENT,
  };
}

/** A part of the state. */
export function rateStateOf({ rate }: Limits): Record<string, number> {
  return {
    ...(rate?.down != null && { rate_down: rate.down }),
    ...(rate?.up != null && { rate_up: rate.up }),
  };
}

/** A state of its own, because it changes all the time; none without a quota. */
export function quotaStateOf({ quota }: Limits): { quota?: unknown } {
  if (quota === undefined) return {};
  const { megabytes, every, at_end, used_bytes } = quota;
  const used = megabytesIn(used_bytes);
  const left = megabytesIn(megabytes * BYTES_PER_MEGABYTE - used_bytes);
  const end = typeof at_end === "object" ? rateText(at_end) : at_end;
  return { quota: { used, left, megabytes, every, at_end: end } };
}

/** With three decimals. */
function megabytesIn(bytes: number): number {
  return Math.round((bytes * 1_000) / BYTES_PER_MEGABYTE) / 1_000;
}
