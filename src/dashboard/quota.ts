import type { Device } from "../devices/schema.ts";
import type { GivenQuota } from "../devices/values.ts";
import { BYTES_PER_MEGABYTE } from "../shared/quotas.ts";
import { bytesOf } from "./format.ts";
import { say } from "./language.ts";
import { limitText } from "./limit.ts";

/** What a device has used and may use, and what happens then. */
export function quotaText(quota: NonNullable<Device["quota"]>): string {
  const { megabytes, every, used_bytes, at_end } = quota;
  return say(
    "{used} of {allowed} {every, select, day {today} other {this month}}, then {end, select, slow {{limit}} told {only told} other {blocked}}",
    {
      used: bytesOf(used_bytes),
      allowed: bytesOf(megabytes * BYTES_PER_MEGABYTE),
      every,
      end: endOf(quota),
      limit: typeof at_end === "object" ? limitText(at_end) : "",
    },
  );
}

/** What a device may use, and what happens then. */
export function amountText(quota: GivenQuota): string {
  const { megabytes, every, at_end } = quota;
  return say(
    "{allowed} {every, select, day {a day} other {a month}}, then {end, select, slow {{limit}} told {only told} other {blocked}}",
    {
      allowed: bytesOf(megabytes * BYTES_PER_MEGABYTE),
      every,
      end: endOf(quota),
      limit: typeof at_end === "object" ? limitText(at_end) : "",
    },
  );
}

/** What happens at the end of a quota, in one word of the forms. */
export function endOf(quota: Pick<GivenQuota, "at_end"> | null | undefined): "blocked" | "slow" | "told" {
  const at_end = quota?.at_end ?? "blocked";
  return typeof at_end === "object" ? "slow" : at_end;
}
