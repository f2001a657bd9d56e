import type { Device } from "../devices/schema.ts";
import { BYTES_PER_MEGABYTE } from "../shared/quotas.ts";
import { bytesOf } from "./format.ts";
import { say } from "./language.ts";

/** What a device has used and may use. */
export function quotaText({ megabytes, every, used_bytes }: NonNullable<Device["quota"]>): string {
  const [used, allowed] = [bytesOf(used_bytes), bytesOf(megabytes * BYTES_PER_MEGABYTE)];
  return say(every === "day" ? "{used} of {allowed} today" : "{used} of {allowed} this month", {
    used,
    allowed,
  });
}
